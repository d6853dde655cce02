"""Sound in memory: wire encodings, stateful resampling, a bounded ring, pacing.

Inside the process sound is ``float32`` in [-1, 1], mono, one-dimensional. On the wire it is one of ``ENCODINGS``.
"""

import functools
from typing import Literal

import numpy as np
import numpy.typing as npt
import soxr

from omnitalk.protocol.audio_format import bytes_per_sample

__all__ = [
    "ENCODINGS",
    "AudioRing",
    "Pacer",
    "Resampler",
    "Samples",
    "decode",
    "encode",
    "level_dbfs",
]

Samples = npt.NDArray[np.float32]
Quality = Literal["QQ", "LQ", "MQ", "HQ", "VHQ"]

ENCODINGS = ("pcm16", "pcm_f32le", "g711_ulaw", "g711_alaw")
SILENCE_DBFS = -120.0


def decode(data: bytes, encoding: str) -> Samples:
    """Wire bytes to samples. Raises ``ValueError`` when the length or a value makes no sense."""
    width = bytes_per_sample(encoding)
    if len(data) % width:
        raise ValueError(f"{len(data)} bytes are not a whole number of {encoding} samples ({width} bytes each)")
    if encoding == "pcm16":
        return np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32768.0)
    if encoding == "pcm_f32le":
        samples = np.frombuffer(data, "<f4").astype(np.float32)
        if not np.isfinite(samples).all():
            raise ValueError("float sound holds NaN or infinite samples")
        return np.clip(samples, -1.0, 1.0)
    table = _ulaw_table() if encoding == "g711_ulaw" else _alaw_table()
    return table[np.frombuffer(data, np.uint8)]


def encode(samples: Samples, encoding: str) -> bytes:
    """Samples to wire bytes; values outside [-1, 1] are clipped."""
    clipped = np.clip(samples, -1.0, 1.0)
    if encoding == "pcm_f32le":
        return bytes(clipped.astype("<f4"))
    pcm = np.clip(np.rint(clipped * 32768.0), -32768, 32767).astype("<i2")
    if encoding == "pcm16":
        return bytes(pcm)
    linear = pcm.astype(np.int32)
    return bytes(_encode_ulaw(linear) if encoding == "g711_ulaw" else _encode_alaw(linear))


@functools.cache
def _ulaw_table() -> Samples:
    """ITU-T G.711 mu-law: 8 bits (inverted) = sign, 3 bits of segment, 4 bits of step; bias 33 (here x4 for 16 bits)."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    magnitude = (((code & 0x0F) << 3) + 0x84 << ((code >> 4) & 7)) - 0x84
    return (np.where(code & 0x80, -magnitude, magnitude) / 32768.0).astype(np.float32)


@functools.cache
def _alaw_table() -> Samples:
    """ITU-T G.711 A-law: even bits inverted (0x55); sign, 3 bits of segment, 4 bits of step."""
    code = np.arange(256, dtype=np.int32) ^ 0x55
    segment, step = (code >> 4) & 7, (code & 0x0F) << 4
    magnitude = np.where(segment == 0, step + 8, (step + 0x108) << np.maximum(segment - 1, 0))
    return (np.where(code & 0x80, magnitude, -magnitude) / 32768.0).astype(np.float32)


def _encode_ulaw(linear: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    magnitude = np.minimum(np.abs(linear), 32635) + 0x84
    segment = np.floor(np.log2(magnitude)).astype(np.int32) - 7
    step = (magnitude >> (segment + 3)) & 0x0F
    return np.asarray(~(np.where(linear < 0, 0x80, 0) | (segment << 4) | step) & 0xFF, dtype=np.uint8)


def _encode_alaw(linear: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    negative = linear < 0
    magnitude = np.minimum(np.where(negative, -linear - 1, linear), 32767)
    segment = np.maximum(np.floor(np.log2(np.maximum(magnitude, 1))).astype(np.int32) - 7, 0)
    step = (magnitude >> np.maximum(segment + 3, 4)) & 0x0F
    return np.asarray((np.where(negative, 0, 0x80) | (segment << 4) | step) ^ 0x55, dtype=np.uint8)


def level_dbfs(samples: Samples) -> float:
    """RMS level, dB below full scale (0 = a full-scale square wave); ``SILENCE_DBFS`` for digital silence."""
    if not samples.size:
        return SILENCE_DBFS
    power = float(np.dot(samples, samples)) / samples.size
    return max(SILENCE_DBFS, 10.0 * float(np.log10(power))) if power > 0 else SILENCE_DBFS


class Resampler:
    """Streams sound from one rate to another, keeping the filter's state across pieces of any size.

    Converting every 20 ms piece on its own costs 100 dB of signal-to-noise ratio. ``quality`` trades look-ahead for
    stop-band: LQ waits at most 7 ms (right for speech on its way to a recogniser), HQ 20 ms.
    """

    def __init__(self, source_hz: int, target_hz: int, quality: Quality = "LQ") -> None:
        self.source_hz, self.target_hz = source_hz, target_hz
        self._stream = None if source_hz == target_hz else soxr.ResampleStream(source_hz, target_hz, 1, dtype="float32", quality=quality)

    def process(self, samples: Samples, *, last: bool = False) -> Samples:
        """What is ready after these samples; with ``last`` also what the filter still held."""
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples, last=last), dtype=np.float32)


class AudioRing:
    """The newest ``capacity`` samples of a stream, addressed by their position in it. Older ones are dropped and counted.

    One flat buffer twice that size: writing is a copy, reading a view, and now and then the tail moves to the front.
    """

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("a ring needs a capacity above 0 samples")
        self.capacity = capacity
        self.dropped = 0
        self.end = 0
        self._buffer = np.empty(2 * capacity, np.float32)
        self._tail = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def start(self) -> int:
        """Position of the oldest sample held."""
        return self.end - self._size

    def write(self, samples: Samples) -> int:
        """Add samples; returns how many (old or of these) were dropped to make room."""
        kept = samples[-self.capacity :]
        dropped = max(0, self._size + samples.size - self.capacity)
        self._size = min(self._size, self.capacity - kept.size)
        if self._tail + kept.size > self._buffer.size:
            self._buffer[: self._size] = self._buffer[self._tail - self._size : self._tail]
            self._tail = self._size
        self._buffer[self._tail : self._tail + kept.size] = kept
        self._tail += kept.size
        self._size += kept.size
        self.end += samples.size
        self.dropped += dropped
        return dropped

    def slice(self, start: int, end: int) -> Samples:
        """A copy of the samples at [start, end), as far as they are held."""
        first = self._tail - self._size
        low = max(start - self.start, 0)
        high = max(low, min(end - self.start, self._size))
        return self._buffer[first + low : first + high].copy()

    def forget(self, before: int) -> None:
        """Let go of everything before this position; not counted as dropped."""
        self._size = min(self._size, max(0, self.end - before))


class Pacer:
    """When pieces of a stream are due, at ``rate`` samples a second from ``start`` (a clock's seconds). Never drifts."""

    def __init__(self, rate: int, start: float) -> None:
        self.rate, self.start = rate, start
        self.sent = 0

    def wait(self, count: int, now: float) -> float:
        """Count ``count`` more samples; returns the seconds to wait until the last of them would have been captured (0 when late)."""
        self.sent += count
        return max(0.0, self.start + self.sent / self.rate - now)
