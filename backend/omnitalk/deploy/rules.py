"""Rules that need no GPU: stages, sessions, connectors, and what the context of a call allows."""

from typing import Any

from .memory import WINDOW, window_marks
from .report import Report
from .schema import CONNECTORS, did_you_mean

__all__ = ["call_rules", "connector_rules", "id_rules", "session_rules"]

_MEASURED_CHUNK = 25
_SECONDS = ("idle_ttl_s", "disconnect_grace_s", "reaper_interval_s", "resume_replay_ttl_s")


def id_rules(report: Report) -> None:
    """The stages of the model, all of them and no other."""
    present = {stage["stage_id"] for stage in report.file.data.get("stages") or ()}
    if report.model is None:
        return
    wanted = set(report.model.stages)
    title, all_of = report.model.title, ", ".join(map(str, sorted(wanted)))
    for extra in sorted(present - wanted):
        report.add("error", f"{title} has stages {all_of}; there is no stage {extra}.")
    if report.complete:
        for absent in sorted(wanted - present):
            report.add("error", f"{title} has stages {all_of}; stage {absent} is missing, here and in what is inherited.")
    for name, section in (report.file.data.get("platforms") or {}).items():
        for stage in (section or {}).get("stages") or ():
            if stage["stage_id"] not in wanted:
                report.add("error", f"platforms.{name}: {title} has stages {all_of}; there is no stage {stage['stage_id']}.")


def session_rules(report: Report) -> None:
    """The mode and the number of calls."""
    data = report.file.data
    mode = data.get("session_mode")
    if mode not in (None, "turn", "duplex"):
        report.add("error", f"session_mode is turn or duplex, not {mode!r}.")
        return
    if mode is None and not report.complete:
        return
    report.duplex = mode == "duplex"
    session = data.get("duplex_session") or {}
    if not report.duplex:
        report.add("warning", "session_mode is not duplex: such a server answers requests and takes no calls.")
        return
    most = session.get("max_sessions", 1 if report.complete else None)
    if most is None:
        return
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        report.add("error", f"duplex_session.max_sessions must be a whole number from 1, not {most!r}.")
        return
    report.sessions = most
    for key in _SECONDS:
        value = session.get(key, 1)
        endless = value is None and key == "idle_ttl_s"
        if not endless and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            report.add("error", f"duplex_session.{key} must be more than 0 seconds, not {value!r}.")


def connector_rules(report: Report) -> None:
    """Connectors that exist, and chunks of a measured size."""
    connectors = report.file.data.get("connectors") or {}
    for name, spec in connectors.items():
        kind = spec.get("name") if isinstance(spec, dict) else None
        if kind is not None and kind not in CONNECTORS:
            report.add("error", f"connectors.{name}: there is no {kind}.{did_you_mean(str(kind), CONNECTORS)}")
        extra = spec.get("extra") if isinstance(spec, dict) else None
        frames = extra.get("codec_chunk_frames") if isinstance(extra, dict) else None
        if report.pipeline == "minicpmo_4_5" and isinstance(frames, int) and frames != _MEASURED_CHUNK:
            report.add(
                "warning",
                f"connectors.{name}: codec_chunk_frames is {frames}. Of 8, 12 and 25, measured on an H200, 25 reaches the first sound "
                "without a gap soonest, at one call and at four.",
            )
    if not report.complete:
        return
    _hosts(report, connectors)
    for stage in report.file.data.get("stages") or ():
        for side in ("input_connectors", "output_connectors"):
            for name in (stage.get(side) or {}).values():
                if name not in connectors:
                    report.add("error", f"Stage {stage['stage_id']}: {side} names {name}, which is not among connectors.")


def _hosts(report: Report, connectors: dict[str, Any]) -> None:
    """Two ends of a connector on different hosts need one that reaches the other."""
    if report.only is None:
        return
    for stage in report.file.data.get("stages") or ():
        for way, name in (stage.get("input_connectors") or {}).items():
            source = str(way).removeprefix("from_stage_")
            kind = (connectors.get(name) or {}).get("name")
            apart = source.isdecimal() and (int(source) in report.only) != (stage["stage_id"] in report.only)
            if apart and CONNECTORS.get(str(kind)) is False:
                report.add(
                    "error",
                    f"Stages {source} and {stage['stage_id']} pass each other chunks through {kind}, which does not reach another host; "
                    "run both on one.",
                )


def call_rules(report: Report) -> None:
    """Sessions against sequences and context."""
    sessions = report.sessions
    if not sessions:
        return
    spare: list[int] = []
    for stage in report.stages:
        if stage.capacity is None:
            continue
        spare.append(stage.capacity - sessions)
        if stage.capacity < sessions:
            replicas = len(stage.replicas or ((),))
            each = f"{replicas} replicas of max_num_seqs {stage.sequences}" if replicas > 1 else f"max_num_seqs {stage.sequences}"
            report.add(
                "error",
                f"Stage {stage.stage_id}: {each} serves {stage.capacity} at once, and max_sessions is {sessions}. "
                "The calls beyond would be taken and left silent.",
            )
        elif len(stage.replicas or ()) > 1 and stage.sequences is not None and stage.sequences < sessions:
            report.add(
                "warning",
                f"Stage {stage.stage_id}: requests are dealt to replicas by turns, not by load, so one replica of max_num_seqs "
                f"{stage.sequences} may get more of the {sessions} calls than it serves at once.",
            )
    if spare and min(spare) == 0:
        report.add("note", "Chat requests share the calls' seats: with every call taken, a chat request waits.")
    most = report.model.one_gpu_calls if report.model else None
    cards = {card for stage in report.stages for replica in stage.replicas or () for card in replica}
    if most is not None and sessions > most and len(cards) == 1 and len(report.stages) > 1:
        report.add(
            "warning",
            f"max_sessions is {sessions} on one GPU. Measured on an H200, {most} calls that speak at once keep up with real time; with 6 "
            "a chunk of 1.0 s of sound came every 1.1 s.",
        )
    _context(report, sessions)


def _context(report: Report, sessions: int) -> None:
    model = report.model
    first = next((stage for stage in report.stages if stage.stage_id == 0), None)
    if model is None or model.call is None or first is None:
        return
    length = first.model_len or (model.stages[0].context if report.complete else None)
    if length is None:
        return
    memory = report.memory.get(0)
    if memory is not None and memory.short > 0:
        return  # it does not even start, which is said already
    each = memory.tokens // sessions if memory is not None and memory.tokens is not None else None
    if each is not None and each < length:
        report.add(
            "warning" if each < WINDOW[0] else "note",
            f"The cache of stage 0 holds {each * sessions} tokens, {each} for each of {sessions} calls; a call may use {length}.",
        )
    marks = window_marks(length, each)
    camera, audio = _time(length / model.call.camera), _time(length / model.call.audio)
    alone = f"Without a sliding window a call ends after {camera} with a camera, {audio} without"
    if marks is None:
        report.add("error", f"{alone}, and there is no room for a window.")
    elif marks == WINDOW:
        report.add("note", f"{alone}. The basic window (extra_body: sliding_window_mode basic, {WINDOW[0]}/{WINDOW[1]} tokens) has room.")
    else:
        report.add(
            "warning",
            f"{alone}, and the basic window's own marks ({WINDOW[0]}/{WINDOW[1]}) are beyond the room there is. "
            f"Calls need basic_window_high_tokens {marks[0]} and basic_window_low_tokens {marks[1]}.",
        )


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
