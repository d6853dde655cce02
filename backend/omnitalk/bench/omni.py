"""The omni engine at real-time pace with 1 to N calls: when it decides, when a reply is first heard, and when it can be heard gapless.

Every call sends 100 ms pieces on the second; the clock of a figure starts when the last piece of a unit has been handed over. Calls
are spread over the second, as people are. *First sound*: first delta of a reply after the first quiet unit. *Gapless*: first sound
plus the hold that a player needs so that no later piece of that reply comes too late (the worst piece of each reply decides).
"""

import asyncio
import io
import json
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from omnitalk.engines.base import Engine, EngineFailed, EngineSession, Interrupt, NearEnd
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings

from .machine import describe

__all__ = ["Figures", "main", "measure", "row", "yields"]

TURN = "SSNNNNNN"
"""Two seconds of speech, six of quiet: time for a reply of four pieces and a pause."""

_PIECE = 1_600
_PIECES = 10


@dataclass
class Figures:
    """One condition. Times in ms; one entry a unit (``listen``), a reply (``first``, ``hold``) or a later piece (``later``)."""

    calls: int
    camera: bool
    listen: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    hold: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    replies: int = 0
    errors: list[str] = field(default_factory=list)
    chats: list[float] = field(default_factory=list)


def _pictures() -> list[bytes]:
    from PIL import Image

    rows, columns = np.mgrid[0:480, 0:640]
    made = []
    for index in range(8):
        red = (columns / 640 * 255 + 20 * index) % 256
        blue = ((rows + columns) / 4 + 30 * np.sin(columns / 20 + index)) % 256
        picture = Image.fromarray(np.stack([red, rows / 480 * 255, blue], -1).astype(np.uint8))
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=85)
        made.append(file.getvalue())
    return made


class _Caller:
    """One call: a microphone (and a camera) on the clock, and a record of what came when."""

    def __init__(self, session: EngineSession, pictures: list[bytes] | None) -> None:
        self.session, self._pictures = session, pictures
        self.unit_ends: list[float] = []
        self.plan = ""
        self.events: list[tuple[float, Any]] = []
        self._noise = np.random.default_rng(0)
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for event in self.session.events():
            if not isinstance(event, NearEnd):
                self.events.append((time.perf_counter(), event))

    async def speak(self, plan: str, *, start: float | None = None) -> None:
        """``S`` a second of speech, ``N`` one of quiet; in pieces of 100 ms, each when its sound would be over."""
        begin = start if start is not None else time.perf_counter()
        for index, what in enumerate(plan):
            sound = self._noise.normal(0, 3_000 if what == "S" else 20, _PIECE * _PIECES).astype("<i2").tobytes()
            for piece in range(_PIECES):
                wait = begin + index + (piece + 1) / _PIECES - time.perf_counter()
                if wait > 0:
                    await asyncio.sleep(wait)
                last = piece == _PIECES - 1
                frame = [self._pictures[index % len(self._pictures)]] if self._pictures and last else []
                audio = sound[2 * piece * _PIECE : 2 * (piece + 1) * _PIECE]
                event = client.InputAudioBufferAppend(audio=audio, is_speech=what == "S", video_frames=frame)
                await self.session.submit(event)
            self.plan += what
            self.unit_ends.append(time.perf_counter())

    async def close(self) -> None:
        await self.session.close("measured")
        await self._reader

    def into(self, figures: Figures) -> None:
        """Add what this call saw."""
        questions = [i for i in range(1, len(self.plan)) if self.plan[i] == "N" and self.plan[i - 1] == "S"]
        sounding: dict[str, list[tuple[float, float]]] = {}
        for at, event in self.events:
            before = [end for end in self.unit_ends if end <= at]
            if not before:
                continue
            match event:
                case server.ResponseListen():
                    figures.listen.append((at - before[-1]) * 1000)
                case server.ResponseOutputAudioDelta() if event.delta:
                    sounding.setdefault(event.response_id, []).append((at, len(event.delta) / 2 / event.sample_rate_hz))
                case server.Error():
                    figures.errors.append(event.error.message)
                case EngineFailed():
                    figures.errors.append(event.message)
                case _:
                    pass
        answered: set[int] = set()
        for pieces in sounding.values():
            began = pieces[0][0]
            asked = [i for i in questions if self.unit_ends[i] <= began and i not in answered]
            if not asked:
                continue
            answered.update(asked)
            figures.replies += 1
            figures.first.append((began - self.unit_ends[asked[-1]]) * 1000)
            heard, hold = 0.0, 0.0
            for at, seconds in pieces:
                hold = max(hold, at - (began + heard))
                heard += seconds
            figures.hold.append(hold * 1000)
            for at, _seconds in pieces[1:]:
                figures.later.append((at - max(end for end in self.unit_ends if end <= at)) * 1000)


async def _chatting(engine: Engine, requests: int, done: list[float]) -> None:
    """So many chat requests with speech, all at once; how long each took, s."""
    from omnitalk.engines.chat import ChatEngine, ChatMessage, ChatPart, ChatRequest

    assert isinstance(engine, ChatEngine)
    words = ChatPart(kind="text", text="Tell me about the sea.")
    request = ChatRequest(messages=(ChatMessage(role="user", parts=(words,)),), speaks=True, max_tokens=64)

    async def one() -> None:
        begin = time.perf_counter()
        async for _ in engine.chat(request):
            pass
        done.append(time.perf_counter() - begin)

    await asyncio.gather(*(one() for _ in range(requests)))


async def measure(engine: Engine, calls: int, *, camera: bool = False, turns: int = 3, chats: int = 0) -> Figures:
    """``calls`` at once, each with ``turns`` questions; ``chats`` requests for speech come in while they go on."""
    figures = Figures(calls, camera)
    pictures = _pictures() if camera else None
    callers = [_Caller(await engine.open_session(f"bench_{i}", SessionSettings()), pictures) for i in range(calls)]
    try:
        begin = time.perf_counter() + 0.2
        burst = asyncio.create_task(_chatting(engine, chats, figures.chats))
        await asyncio.gather(*(caller.speak(TURN * turns, start=begin + i / calls) for i, caller in enumerate(callers)))
        await asyncio.sleep(1.0)
        # Chat waits for calls, so what is left of the burst is not waited for.
        burst.cancel()
        await asyncio.gather(burst, return_exceptions=True)
    finally:
        for caller in callers:
            await caller.close()
    for caller in callers:
        caller.into(figures)
    return figures


async def yields(engine: Engine, *, hard: bool) -> dict[str, float | str | None]:
    """An interruption in the middle of a reply, then a question: ms from the decision to ``response.done``, to the last sound that
    came in spite of it, and from the question's last unit to the first sound of its answer."""
    caller = _Caller(await engine.open_session("bench_yield", SessionSettings()), None)
    try:
        await caller.speak("SSNN")
        spoken = [event for _, event in caller.events if isinstance(event, server.ResponseOutputAudioDelta)]
        if not spoken:
            return {"problem": "no reply came to interrupt"}
        response_id = spoken[-1].response_id
        decided = time.perf_counter()
        await caller.session.submit(Interrupt(response_id=response_id, heard_ms=500.0, reason="turn_detected", hard=hard))
        await caller.speak("SSNNN")
    finally:
        await caller.close()
    after = [(at, event) for at, event in caller.events if at >= decided]
    done = [at for at, event in after if isinstance(event, server.ResponseDone) and event.response_id == response_id]
    late = [at for at, event in after if isinstance(event, server.ResponseOutputAudioDelta) and event.response_id == response_id]
    fresh = [at for at, event in after if isinstance(event, server.ResponseOutputAudioDelta) and event.response_id != response_id]
    asked = caller.unit_ends[caller.plan.rindex("S") + 1]
    return {
        "done_ms": (done[0] - decided) * 1000 if done else None,
        "dead_sound_ms": (late[-1] - decided) * 1000 if late else 0.0,
        "next_first_ms": (fresh[0] - asked) * 1000 if fresh else None,
    }


def _at(values: Sequence[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))] if ordered else None


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


_COLUMNS = (
    "condition",
    "listen (median/p95)",
    "first sound (median/p95)",
    "hold (p95/worst)",
    "gapless (median/median + worst hold)",
    "later pieces (p95)",
    "replies",
    "errors",
)
HEAD = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"


def row(label: str, figures: Figures) -> str:
    """A line of the table."""
    gapless = [first + hold for first, hold in zip(figures.first, figures.hold, strict=True)]
    median = statistics.median(figures.first) if figures.first else None
    worst = median + max(figures.hold) if median is not None else None
    what = f"{figures.calls} call{'s' if figures.calls > 1 else ''}, {'camera' if figures.camera else 'audio'}"
    cells = (
        f"{label}{what}",
        f"{_shown(_at(figures.listen, 0.5))} / {_shown(_at(figures.listen, 0.95))}",
        f"{_shown(median)} / {_shown(_at(figures.first, 0.95))}",
        f"{_shown(_at(figures.hold, 0.95))} / {_shown(max(figures.hold, default=None))}",
        f"{_shown(statistics.median(gapless) if gapless else None)} / {_shown(worst)}",
        _shown(_at(figures.later, 0.95)),
        str(figures.replies),
        str(len(figures.errors)) + (f" ({figures.errors[0][:80]})" if figures.errors else ""),
    )
    return f"| {' | '.join(cells)} |"


def memory() -> str:
    """GPU memory by process, as the driver says it."""
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "not available"
    import psutil

    parts = []
    for line in answer.splitlines():
        pid, _, used = line.partition(",")
        try:
            name = " ".join(psutil.Process(int(pid)).cmdline())[:60]
        except (psutil.Error, ValueError):
            name = "?"
        parts.append(f"{name.strip() or pid} {used.strip()} MiB")
    return "; ".join(parts)


def main(
    engine: Engine, *, calls: list[int], camera: bool, chats: int, turns: int, label: str, interruptions: bool, output: Path | None
) -> None:
    """Start, measure every condition, print the table and append it to ``output``."""
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    async def run() -> None:
        begin = time.perf_counter()
        await engine.start()
        try:
            say(f"{describe()}; {engine.capabilities.model}; started in {time.perf_counter() - begin:.0f} s")
            say(f"GPU memory: {memory()}")
            say(HEAD)
            for number in calls:
                for seen in (False, True) if camera else (False,):
                    say(row(label, await measure(engine, number, camera=seen, turns=turns)))
            if chats:
                busy = await measure(engine, max(1, calls[-1] - 2), turns=turns, chats=chats)
                say(row(f"{label}{chats} chats asked for speech beside ", busy))
                say(f"chats done meanwhile: {len(busy.chats)}")
            if interruptions:
                for hard in (False, True):
                    say(f"{'hard' if hard else 'soft'} interruption: {json.dumps(await yields(engine, hard=hard))}")
            say(f"GPU memory after: {memory()}")
        finally:
            await engine.stop()
            if output is not None:
                with output.open("a") as file:
                    file.write("\n".join(lines) + "\n\n")

    asyncio.run(run())
