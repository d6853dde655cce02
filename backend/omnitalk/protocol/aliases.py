"""Other spellings of client events and their fields, folded into ours before an event is decoded.

vLLM-Omni's server takes these; ours does too, so that its clients connect unchanged. Each function takes the JSON object as
it came and returns one with our names; the caller's object is left alone. Values are not judged here.
"""

from collections.abc import Mapping
from typing import Final

from .audio_format import parse_format
from .base import JsonObject
from .errors import ProtocolError

__all__ = ["fold_client", "fold_server"]

_CLIENT_NAMES: Final = {
    "input.commit": "input_audio_buffer.commit",
    "audio.playback_ack": "playback.ack",
    "close": "session.close",
    "close_session": "session.close",
    "signal_turn": "turn.signal",
    "input_text.append": "input.text.append",
    "push_text": "input.text.append",
}

_CLIENT_FIELDS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "input_audio_buffer.append": (
        ("delta", "audio"),
        ("input_audio_format", "format"),
        ("sample_rate", "sample_rate_hz"),
        ("audio_duration_ms", "duration_ms"),
        ("speech", "is_speech"),
        ("overlap", "overlap_action"),
    ),
    "input_audio_buffer.commit": (("response_create", "create_response"),),
    "playback.ack": (("audio_ms", "played_ms"),),
}

_SERVER_NAMES: Final = {
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
}

_NOT_NULLABLE: Final = frozenset(
    {
        "type", "model", "modalities", "output_modalities", "input_audio_format", "output_audio_format", "response_format",
        "sample_rate_hz", "overlap_short_ack_ms", "overlap_barge_in_ms", "overlap_silence_rms", "playback_commit_policy",
        "use_tts_template", "tools", "tool_choice", "truncation", "profile",
    }
)  # fmt: skip
"""Settings where null means nothing, so that a client which writes every optional field is not refused."""

_OVERLAP_ACTIONS: Final = {
    "barge_in": "barge_in", "interrupt": "barge_in", "cancel": "barge_in",
    "listen": "listen", "continue": "listen", "continue_output": "listen", "ack": "listen",
    "drop": "drop", "ignore": "drop", "silence": "drop",
}  # fmt: skip


def fold_client(event: JsonObject) -> JsonObject:
    """A client event under our names. ``event["type"]`` is a string. Raises ``ProtocolError`` for an unusable audio format."""
    given: str = event["type"]
    name: str = _CLIENT_NAMES.get(given, given)
    out = {**event, "type": name}
    for alias, field in _CLIENT_FIELDS.get(name, ()):
        value = out.pop(alias, None)
        if value is not None and out.get(field) is None:
            out[field] = value
    if name == "input_audio_buffer.append":
        _fold_append(out)
    elif name == "session.update":
        out = _fold_session_update(out)
    elif given == "input.commit" and out.get("create_response") is None:
        out["create_response"] = True
    return out


def fold_server(event: JsonObject) -> JsonObject:
    """A server event under our names: OpenAI's beta names, and ``duplex.<name>`` as ``duplex.raw``."""
    name = event["type"]
    if name in _SERVER_NAMES:
        return {**event, "type": _SERVER_NAMES[name]}
    if name.startswith("duplex.") and name != "duplex.raw":
        inner = event.get("event")
        return {**event, "type": "duplex.raw", "name": name.removeprefix("duplex."), "event": inner if isinstance(inner, dict) else {}}
    return event


def _fold_append(out: JsonObject) -> None:
    """In place: optional fields that are null or empty are not there; the format by its one name, its rate beside it."""
    for key in [key for key, value in out.items() if value is None and key not in ("max_slice_nums", "event_id", "audio")]:
        del out[key]
    if "format" in out:
        encoding, rate = parse_format(out.pop("format"), param="format")
        if encoding is not None:
            out["format"] = encoding
        if rate is not None:
            out.setdefault("sample_rate_hz", rate)
    action = out.get("overlap_action")
    if isinstance(action, str):
        if action not in _OVERLAP_ACTIONS:
            raise ProtocolError("bad_event", f"overlap_action is barge_in, listen or drop, not {action[:40]!r}.", param="overlap_action")
        out["overlap_action"] = _OVERLAP_ACTIONS[action]


def _fold_session_update(out: JsonObject) -> JsonObject:
    """The settings may lie flat in the event instead of under ``session``."""
    if "session" not in out:
        out = {
            "type": out["type"],
            **({"event_id": out["event_id"]} if "event_id" in out else {}),
            "session": {key: value for key, value in out.items() if key not in ("type", "event_id")},
        }
    session = out["session"]
    if not isinstance(session, dict):
        return out
    if session.get("ref_audio_path") is not None:
        raise ProtocolError(
            "unsupported_ref_audio_path", "A path on the server is not taken: send ref_audio as a data: or https: URL.",
            param="session.ref_audio_path",
        )  # fmt: skip
    if session.get("sample_rate") is not None and session.get("sample_rate_hz") is None:
        session = {**session, "sample_rate_hz": session["sample_rate"]}
    return {**out, "session": {key: value for key, value in session.items() if value is not None or key not in _NOT_NULLABLE}}
