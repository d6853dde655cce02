"""One reply of the model's, written onto our wire: sound and its words paired, timed and in the format that the client asked for."""

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from omnitalk.engines.conversation import Conversation, Mark, new_id
from omnitalk.engines.turns import ResponseWriter
from omnitalk.media.audio import Resampler, encode
from omnitalk.protocol.base import JsonObject, ServerEvent
from omnitalk.protocol.session import SessionSettings

__all__ = ["Reply"]

RATE = 24_000
"""Code2Wav's rate; a session cannot ask the engine for another."""

_STATUSES = ("completed", "cancelled", "failed", "incomplete")
_TOLD = ("model_speak", "end_of_turn")


class Reply:
    """``engine_id``: the response's id inside the engine. ``id``: on our wire."""

    def __init__(
        self,
        engine_id: str,
        settings: SessionSettings,
        conversation: Conversation,
        emit: Callable[[ServerEvent], None],
        metadata: JsonObject | None = None,
    ) -> None:
        self.engine_id = engine_id
        self.id = new_id("resp")
        self.cut = False
        self.pieces = 0
        self.times: dict[str, float] = {}
        wire = settings.output_format
        self._encoding, self._rate = wire.encoding, wire.rate
        self._resampler = Resampler(RATE, wire.rate) if wire.rate != RATE else None
        self._waiting: tuple[bytes, JsonObject] | None = None
        self._chars = 0
        self._acknowledged = -1.0
        self.writer = ResponseWriter(
            emit,
            response_id=self.id,
            item_id=new_id("item"),
            conversation=conversation,
            speaks=settings.speaks,
            encoding=wire.encoding,
            rate=wire.rate,
            metadata=metadata,
            max_output_tokens=settings.max_output_tokens,
        )

    def sound(self, pcm: bytes, metadata: JsonObject) -> None:
        """PCM16 at 24 kHz. The engine sends the words of a piece right after it: it waits for them."""
        self._flush("")
        self.pieces += 1
        self._note_times(metadata)
        self._waiting = (pcm, {name: metadata[name] for name in _TOLD if name in metadata})

    def words(self, text: str) -> None:
        """The words of the piece before (or words without a sound)."""
        self._flush(text)

    def progressed(self, committed_ms: float) -> bool:
        """Whether the person has heard more than was acknowledged so far; remembers it."""
        if committed_ms <= self._acknowledged:
            return False
        self._acknowledged = committed_ms
        return True

    def end(self, status: str, *, reason: str | None, heard_ms: float | None) -> None:
        """Close it. ``heard_ms`` given: what was not heard of it is forgotten."""
        if heard_ms is None:
            self._flush("")
        else:
            self.cut = True
            self._waiting = None
            self.writer.cut(heard_ms)
        known = status if status in _STATUSES else "completed"
        self.writer.finish(
            cast(Literal["completed", "cancelled", "failed", "incomplete"], known),
            reason=None if known == "completed" else reason or "engine_error",
            usage={"total_tokens": 0, "input_tokens": 0, "output_tokens": 0},
        )

    def _flush(self, text: str) -> None:
        if self._waiting is None:
            if text:
                self.writer.audio(b"", 0.0, text, self._marks(text, self.writer.audio_ms, 0.0), {})
            return
        pcm, metadata = self._waiting
        self._waiting = None
        sound, milliseconds = self._converted(pcm, last=metadata.get("end_of_turn") is True)
        self.writer.audio(sound, milliseconds, text, self._marks(text, self.writer.audio_ms, milliseconds), metadata)

    def _converted(self, pcm: bytes, *, last: bool) -> tuple[bytes, float]:
        """In the client's format, and how long that lasts, ms: a resampler keeps a little back until the end."""
        if self._resampler is None and self._encoding == "pcm16":
            return pcm, len(pcm) / 2 / RATE * 1000.0
        samples = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0
        if self._resampler is not None:
            samples = self._resampler.process(samples, last=last)
        return encode(samples, self._encoding), samples.size / self._rate * 1000.0

    def _marks(self, text: str, before_ms: float, length_ms: float) -> list[Mark]:
        """Where each word ends, spread over the piece by length: the engine knows no better (its own marks start anew each piece)."""
        marks: list[Mark] = []
        ends = [index for index in range(1, len(text)) if text[index] == " "] + [len(text)] if text.strip() else []
        for end in ends:
            marks.append(Mark(self._chars + end, before_ms + length_ms * end / len(text)))
        self._chars += len(text)
        return marks

    def _note_times(self, metadata: JsonObject) -> None:
        engine: Any = metadata.get("vllm_omni")
        measured = engine.get("response_request_metrics") if isinstance(engine, dict) else None
        if isinstance(measured, dict):
            for name in ("ttft_ms", "ttfp_ms"):
                if isinstance(measured.get(name), int | float):
                    self.times.setdefault(name, round(float(measured[name]), 1))
