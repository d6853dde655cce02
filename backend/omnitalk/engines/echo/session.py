"""One call with an echo: every piece of microphone sound comes back in one response that never ends by itself."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple

import numpy as np

from omnitalk.engines.base import Command, DismissInput, EngineError, EngineEvent, Interrupt, PlaybackProgress
from omnitalk.engines.conversation import Conversation, new_id
from omnitalk.engines.sound_in import wire_format
from omnitalk.engines.turns import ResponseWriter
from omnitalk.media.audio import Resampler, Samples, decode, encode
from omnitalk.protocol import client
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import AudioFormat, SessionSettings
from omnitalk.protocol.settings import apply

__all__ = ["Arrival", "EchoSession"]

_MOST = 1_024
"""Events that may wait for their reader; at 50 pieces a second that is 10 s. Older ones go first: an old echo measures nothing."""

_KEPT = 60_000
"""Arrivals kept for a measurement: 20 minutes of 20 ms pieces."""


class Arrival(NamedTuple):
    """A piece of sound as it came: epoch ms, and where it begins and ends in the call's input, in samples."""

    at_ms: float
    start: int
    end: int


class EchoSession:
    """``keep_sound`` True: ``arrivals`` says when each input sample reached the engine, and ``heard`` gives the samples."""

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._events: deque[EngineEvent] = deque(maxlen=_MOST)
        self._filled = asyncio.Event()
        self._closed = False
        self._conversation = Conversation()
        self._resampler: tuple[AudioFormat, Resampler] | None = None
        self._heard = 0
        self.arrivals: deque[Arrival] = deque(maxlen=_KEPT)
        self.keep_sound = False
        self._kept: deque[Samples] = deque(maxlen=_KEPT)
        self._writer = self._begin()

    @property
    def settings(self) -> SessionSettings:
        """The settings in force."""
        return self._settings

    async def submit(self, command: Command) -> None:
        """Echoes sound. Raises ``EngineError`` for what an echo cannot do."""
        match command:
            case client.InputAudioBufferAppend():
                self._echo(command)
            case client.SessionUpdate():
                try:
                    self._settings = apply(self._settings, command.session)
                except ProtocolError as problem:
                    raise EngineError(problem.code, problem.message, param=problem.param) from None
            case Interrupt():
                self._writer.cut(command.heard_ms)
                self._writer.finish("cancelled", reason=command.reason)
                self._writer = self._begin()
            case PlaybackProgress() | DismissInput() | client.OmnitalkMute() | client.OmnitalkHold() | client.InputAudioBufferClear():
                pass
            case _:
                raise EngineError("unsupported", "The echo engine only says back what it hears; it is for measuring.")

    async def events(self) -> AsyncIterator[EngineEvent]:
        """Events in order; ends after ``close``."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            self._filled.clear()
            await self._filled.wait()

    async def close(self, reason: str) -> None:
        """Ends the echo."""
        self._closed = True
        self._events.clear()
        self._filled.set()

    def heard(self) -> Samples:
        """The input since ``keep_sound`` was set, at the session's input rate; ``arrivals`` counts in it."""
        return np.concatenate([*self._kept]) if self._kept else np.empty(0, np.float32)

    def _echo(self, command: client.InputAudioBufferAppend) -> None:
        wire = wire_format(command, self._settings.input_format)
        try:
            samples = decode(command.audio, wire.encoding)
        except ValueError as problem:
            raise EngineError("bad_audio", str(problem), param="audio") from None
        if self.keep_sound:
            self.arrivals.append(Arrival(time.time() * 1000.0, self._heard, self._heard + len(samples)))
            self._heard += len(samples)
            self._kept.append(samples)
        out = self._settings.output_format
        if self._resampler is None or self._resampler[0] != wire:
            self._resampler = (wire, Resampler(wire.rate, out.rate, quality="QQ"))  # no look-ahead: the echo must not be what is measured
        echoed = self._resampler[1].process(samples)
        if len(echoed):
            self._writer.audio(encode(echoed, out.encoding), 1000.0 * len(echoed) / out.rate, "", [])

    def _begin(self) -> ResponseWriter:
        writer = ResponseWriter(
            self._emit,
            response_id=new_id("resp"),
            item_id=new_id("item"),
            conversation=self._conversation,
            encoding=self._settings.output_format.encoding,
            rate=self._settings.output_format.rate,
        )
        writer.begin()
        return writer

    def _emit(self, event: EngineEvent) -> None:
        self._events.append(event)
        self._filled.set()
