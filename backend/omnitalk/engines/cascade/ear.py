"""What a session hears: wire bytes in, 16 kHz sound on a bounded ring, and a voice-activity verdict for every frame of it."""

import asyncio
from collections.abc import Callable

from omnitalk.engines.base import NearEnd
from omnitalk.engines.sound_in import SoundIn, wire_format
from omnitalk.media.audio import AudioRing, level_dbfs
from omnitalk.media.vad import FRAME, FRAME_MS, RATE, VadModel, VadStream
from omnitalk.protocol.audio_format import bytes_per_sample
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.session import AudioFormat

from .workers import WorkerPool

__all__ = ["MAX_TURN_S", "Ear"]

MAX_TURN_S = 60
"""The longest turn that is kept; of a longer one the beginning is lost, and counted."""

_MAX_BACKLOG = 10 * RATE
"""Sound that the detector has not seen yet; older sound is passed over."""

_BATCH = 8
"""Frames in one visit to the detector's thread: 256 ms of sound, about 2 ms of work."""


class Ear:
    """``on_frame`` is called on the event loop with the frame's end position (samples) and its verdict."""

    def __init__(self, model: VadModel, pool: WorkerPool, key: str, on_frame: Callable[[int, NearEnd], None]) -> None:
        self.ring = AudioRing(MAX_TURN_S * RATE)
        self.seen = 0
        self.passed_over = 0
        self._vad = VadStream(model)
        self._pool, self._key, self._on_frame = pool, key, on_frame
        self._sound = SoundIn(RATE)
        self._arrived = asyncio.Event()

    def append(self, event: InputAudioBufferAppend, default: AudioFormat) -> int:
        """Take sound in; returns its samples at 16 kHz. Raises ``EngineError`` (``bad_audio``, ``unsupported_audio_format``)."""
        wire, data = wire_format(event, default), event.audio
        size = bytes_per_sample(wire.encoding)
        longest = MAX_TURN_S * wire.rate * size
        lost = 0
        if len(data) > longest and len(data) % size == 0:
            lost = (len(data) - longest) // size
            data = data[-longest:]
        samples = self._sound.samples(data, wire)
        self.ring.dropped += lost * RATE // wire.rate
        self.ring.write(samples)
        self._arrived.set()
        return int(samples.size)

    def skip(self) -> None:
        """Pass over everything that has arrived and start afresh."""
        self.seen = self.ring.end
        self.ring.forget(self.seen)
        self._vad.reset()

    async def run(self) -> None:
        """Judge frames as they come, forever."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while (ready := self.ring.end - self.seen) >= FRAME:
                if ready > _MAX_BACKLOG:
                    self.passed_over += ready - _MAX_BACKLOG
                    self.seen = self.ring.end - _MAX_BACKLOG
                self.seen = max(self.seen, self.ring.start)
                await self._judge(self.seen)

    async def _judge(self, start: int) -> None:
        count = min(_BATCH, (self.ring.end - start) // FRAME)
        frames = self.ring.slice(start, start + count * FRAME).reshape(count, FRAME)

        def work() -> list[NearEnd]:
            return [
                NearEnd(
                    probability=self._vad(frame),
                    level_dbfs=level_dbfs(frame),
                    at_ms=(start + (index + 1) * FRAME) * 1000.0 / RATE,
                    frame_ms=FRAME_MS,
                )
                for index, frame in enumerate(frames)
            ]

        for index, verdict in enumerate(await self._pool.run(self._key, work)):
            if self.seen > start + index * FRAME:
                return  # skipped or cleared meanwhile
            self.seen = start + (index + 1) * FRAME
            self._on_frame(self.seen, verdict)
