"""One reply in the making: the model's text as it comes, cut into clauses, spoken clause by clause while the rest is written."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import numpy as np

from omnitalk.engines.base import EngineError
from omnitalk.engines.turns import ResponseWriter, Status
from omnitalk.media.audio import Resampler, encode
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.session import AudioFormat

from .clauses import ClauseSplitter, speakable
from .draft import Draft
from .llm import ChatMessage, LlmSeat, LlmUsage
from .options import ReplyOptions
from .outbox import Outbox
from .speech import Piece, SpeechCutter, trim
from .stages import Stages

__all__ = ["Reply"]

_CLAUSES_AHEAD = 8


class Reply:
    """``begin`` writes the response's head; ``run`` makes it; ``cancel`` ends it at once, from any state.

    ``times``: ms stage times of this reply, filled as it goes. ``begun_at``: ``time.perf_counter`` when the person's words were known.
    """

    def __init__(
        self,
        stages: Stages,
        seat: LlmSeat,
        outbox: Outbox,
        writer: ResponseWriter,
        *,
        key: str,
        options: ReplyOptions,
        wire: AudioFormat,
        draft: Draft | None = None,
    ) -> None:
        self.writer, self.options = writer, options
        self.messages: list[ChatMessage] = []
        self.usage: LlmUsage | None = None
        self.text = ""
        self.times: dict[str, float] = {}
        self.begun_at = time.perf_counter()
        self._stages, self._seat, self._outbox, self._key = stages, seat, outbox, key
        self._draft = draft
        self._encoding = wire.encoding
        self._rate = wire.rate
        self._finish_reason: str | None = None
        self._cutter = SpeechCutter(wire.rate)
        self._resampler = Resampler(stages.tts.rate, wire.rate, "HQ")
        self._clauses: asyncio.Queue[str | None] = asyncio.Queue(_CLAUSES_AHEAD)

    @property
    def active(self) -> bool:
        """Whether it is still being made."""
        return not self.writer.ended

    def cancel(self, reason: str, heard_ms: float) -> None:
        """End now: what was not heard is cut away. The task that runs ``run`` must be cancelled beside this."""
        if self.writer.ended:
            return
        if self._draft is not None:
            self._draft.drop()
        self._outbox.drop_deltas(self.writer.response_id)
        self.writer.cut(heard_ms)
        self.writer.finish("cancelled", reason=reason, usage=self._wire_usage())

    async def run(self, read: Callable[[], list[ChatMessage]]) -> None:
        """Make the reply from the messages that ``read`` gives (now, not earlier). Model failures end the response as failed."""
        self.begun_at = time.perf_counter()
        self.messages = read()
        status: Status = "completed"
        reason: str | None = None
        error: JsonObject | None = None
        try:
            async with asyncio.TaskGroup() as group:
                if self.options.speaks:
                    group.create_task(self._write())
                    group.create_task(self._speak())
                else:
                    group.create_task(self._write_text())
            if self._finish_reason == "length":
                status, reason = "incomplete", "max_output_tokens"
        except* EngineError as failures:
            first = failures.exceptions[0]
            assert isinstance(first, EngineError)
            status, reason = "failed", first.code
            error = {"type": first.kind, "code": first.code, "message": first.message}
        if self.writer.ended:
            return
        self.writer.finish(status, reason=reason, error=error, usage=self._wire_usage())

    def _mark(self, name: str) -> None:
        self.times.setdefault(name, 1000.0 * (time.perf_counter() - self.begun_at))

    async def _write(self) -> None:
        splitter = ClauseSplitter()
        async with aclosing(self._model_text()) as words:
            async for text in words:
                for clause in splitter.feed(text):
                    self._mark("llm_first_clause_ms")
                    await self._clauses.put(clause)
        for clause in splitter.flush():
            self._mark("llm_first_clause_ms")
            await self._clauses.put(clause)
        await self._clauses.put(None)

    async def _write_text(self) -> None:
        async with aclosing(self._model_text()) as words:
            async for text in words:
                await self._outbox.room()
                self.writer.text(text)

    async def _model_text(self) -> AsyncGenerator[str, None]:
        options = self.options
        draft, self._draft = self._draft, None
        if draft is not None and draft.fits(self.messages, options):
            stream = draft.chunks()
        else:
            if draft is not None:
                draft.drop()
            stream = self._seat.stream(self.messages, max_tokens=options.max_tokens, temperature=options.temperature)
        async with aclosing(stream):
            async for chunk in stream:
                self.usage = chunk.usage or self.usage
                self._finish_reason = chunk.finish_reason or self._finish_reason
                if chunk.text:
                    self._mark("llm_first_token_ms")
                    self.text += chunk.text
                    yield chunk.text

    async def _speak(self) -> None:
        first = True
        while (clause := await self._clauses.get()) is not None:
            text = speakable(clause)
            if not text:
                self._cutter.skip(clause)
                continue
            begun = time.perf_counter()
            sound = await self._stages.say(self._key, text, self.options.speed, first=first)
            if first:
                self.times["tts_ms"] = 1000.0 * (time.perf_counter() - begun)
                first = False
            sound = self._resampler.process(trim(sound, self._stages.tts.rate, text))
            for piece in self._cutter.cut(clause, sound):
                await self._emit(piece)
        for piece in self._cutter.cut("", self._resampler.process(np.zeros(0, np.float32), last=True)):
            await self._emit(piece)

    async def _emit(self, piece: Piece) -> None:
        await self._outbox.room()
        self.writer.audio(encode(piece.samples, self._encoding), piece.samples.size * 1000.0 / self._rate, piece.words, piece.marks)
        self._mark("first_sound_ms")

    def _wire_usage(self) -> JsonObject | None:
        if self.usage is None:
            return None
        prompt, completion, cached = self.usage
        return {
            "total_tokens": prompt + completion,
            "input_tokens": prompt,
            "output_tokens": completion,
            "input_token_details": {"text_tokens": prompt, "audio_tokens": 0, "cached_tokens": cached},
            "output_token_details": {"text_tokens": completion, "audio_tokens": 0},
        }
