"""End of speech to first sound of the embedded engine, in spoken turns at real-time pace.

The clock starts when the last audible sample of a question has been handed to the engine (in 20 ms pieces, as a page sends them), and
stops at the first audible sample of the reply: the arrival of its piece plus its place in it. Transport is not included.
"""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from omnitalk.engines.base import Engine, EngineSession, NearEnd, PlaybackProgress
from omnitalk.media.audio import Pacer, Samples, decode, encode
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings, TurnDetection

from .machine import Usage, Watch, describe
from .speech import RATE, Speaker

__all__ = ["Turn", "main", "measure", "table"]

_PIECE = RATE // 50
_AUDIBLE = 0.01
_TURN_TIMEOUT_S = 30.0
_STAGES = (
    ("vad_ms", "silence that ends the turn"),
    ("asr_wait_ms", "words not yet there at that moment"),
    ("llm_first_token_ms", "first token"),
    ("llm_first_clause_ms", "first clause written"),
    ("tts_ms", "first clause spoken"),
)
_BETS = (("asr_ms", "recognition (during the silence)"), ("turn_ms", "turn model (during the silence)"))


@dataclass
class Turn:
    """One question and its answer. ``latency_ms``: end of speech to first sound. ``stages``: the engine's own stage times, ms."""

    question: str
    voice: str
    latency_ms: float = float("nan")
    heard: str = ""
    answer: str = ""
    stages: dict[str, float] = field(default_factory=dict)


class _Caller:
    """A person on a call: speaks in real time, listens, and lets the reply play out before the next question."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._turn = Turn("", "")
        self._spoken_at = 0.0
        self._first_sound_at: float | None = None
        self._over = asyncio.Event()
        self._reply: tuple[str, str, float] | None = None

    async def listen(self) -> None:
        """Take the engine's events until the session closes."""
        async for event in self._session.events():
            match event:
                case NearEnd():
                    pass
                case server.InputAudioTranscriptionCompleted():
                    self._turn.heard = event.transcript
                case server.ResponseOutputAudioDelta():
                    self._sound(event)
                case server.ResponseOutputAudioTranscriptDone():
                    self._turn.answer = event.transcript
                case server.OmnitalkStats():
                    self._turn.stages = {name: float(value) for name, value in event.stats.items() if isinstance(value, int | float)}
                    self._over.set()

    def _sound(self, event: server.ResponseOutputAudioDelta) -> None:
        samples = decode(event.delta, event.format)
        length_ms = samples.size * 1000.0 / event.sample_rate_hz
        _, _, so_far = self._reply or ("", "", 0.0)
        self._reply = (event.response_id, event.item_id, so_far + length_ms)
        loud = np.flatnonzero(np.abs(samples) > _AUDIBLE)
        if self._first_sound_at is None and loud.size:
            self._first_sound_at = time.perf_counter() + float(loud[0]) / event.sample_rate_hz

    async def ask(self, question: str, voice: str, speech: Samples) -> Turn:
        """One turn. Raises ``TimeoutError`` when no reply comes."""
        self._turn, self._first_sound_at, self._reply = Turn(question, voice), None, None
        self._over.clear()
        await self._send(np.zeros(RATE // 2, np.float32))
        await self._send(speech)
        self._spoken_at = time.perf_counter()
        silence = asyncio.create_task(self._send(np.zeros(int(_TURN_TIMEOUT_S * RATE), np.float32)))
        try:
            async with asyncio.timeout(_TURN_TIMEOUT_S):
                await self._over.wait()
            self._turn.latency_ms = self._latency_ms()
            await self._play()
        finally:
            silence.cancel()
        return self._turn

    def _latency_ms(self) -> float:
        return float("nan") if self._first_sound_at is None else 1000.0 * (self._first_sound_at - self._spoken_at)

    async def _play(self) -> None:
        """Let the reply sound to its end, as a speaker does."""
        if self._reply is None:
            return
        response_id, item_id, length_ms = self._reply
        for sounding in (True, False):
            await self._session.submit(
                PlaybackProgress(
                    response_id=response_id,
                    item_id=item_id,
                    played_ms=0.0 if sounding else length_ms,
                    committed_ms=0.0 if sounding else length_ms,
                    sounding=sounding,
                )
            )
            if sounding:
                await asyncio.sleep(length_ms / 1000.0)

    async def _send(self, samples: Samples) -> None:
        pacer = Pacer(RATE, time.perf_counter())
        for at in range(0, samples.size, _PIECE):
            piece = samples[at : at + _PIECE]
            await asyncio.sleep(pacer.wait(piece.size, time.perf_counter()))
            await self._session.submit(client.InputAudioBufferAppend(audio=encode(piece, "pcm16")))


async def measure(engine: Engine, turns: int) -> tuple[list[Turn], Usage]:
    """Hold a call of so many turns with a started engine."""
    speaker = Speaker()
    session = await engine.open_session("call_bench", SessionSettings(turn_detection=TurnDetection()))
    caller = _Caller(session)
    listening = asyncio.create_task(caller.listen())
    watch = Watch()
    try:
        measured = [await caller.ask(*speaker.say(index)) for index in range(turns)]
    finally:
        usage = watch.usage()
        await session.close("bench_over")
        await listening
    return measured, usage


def table(turns: list[Turn], usage: Usage, start_s: float, model: str) -> str:
    """The result as Markdown, with the machine named."""
    answered = [turn for turn in turns if not np.isnan(turn.latency_ms)]
    lines = [
        f"Machine: {describe()}. Model: {model}. {len(turns)} spoken turns at real-time pace, {len(answered)} answered. "
        f"Other programs used {usage.other_cores:.2f} cores meanwhile.",
        "",
        "| What | median | p95 |",
        "|---|---:|---:|",
    ]
    if answered:
        lines.append(_row("**end of speech → first sound**", [turn.latency_ms for turn in answered]))
    for name, title in (*_STAGES, *_BETS):
        values = [turn.stages[name] for turn in answered if name in turn.stages]
        if values:
            lines.append(_row(title, values))
    lines += [
        f"| cores used over the whole call | {usage.own_cores:.2f} | |",
        f"| most memory held (RSS) | {usage.peak_rss_mb:.0f} MB | |",
        f"| engine start | {start_s:.1f} s | |",
    ]
    return "\n".join(lines) + "\n"


def _row(title: str, values: list[float]) -> str:
    return f"| {title} | {np.median(values):.0f} ms | {np.percentile(values, 95):.0f} ms |"


async def _run(turns: int) -> tuple[str, list[Turn]]:
    from omnitalk.engines.factory import make_engine
    from omnitalk.settings import ServeSettings

    engine = make_engine(ServeSettings(engine="cascade"))
    begun = time.perf_counter()
    await engine.start()
    start_s = time.perf_counter() - begun
    try:
        measured, usage = await measure(engine, turns)
    finally:
        await engine.stop()
    return table(measured, usage, start_s, engine.capabilities.model), measured


def main(turns: int = 20, output: Path | None = None) -> None:
    """Measure, print the turns and the table, and write the table to ``output``. Ends with a sentence when the engine cannot start."""
    from omnitalk.engines.base import EngineError

    try:
        text, measured = asyncio.run(_run(turns))
    except EngineError as error:
        raise SystemExit(f"omnitalk: {error.message}") from error
    for turn in measured:
        print(f"{turn.latency_ms:6.0f} ms  {turn.voice:9}  {turn.question!r} heard as {turn.heard!r}: {turn.answer!r}")
    print()
    print(text)
    if output is not None:
        output.write_text(text)
