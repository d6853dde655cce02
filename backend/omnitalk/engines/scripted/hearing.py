"""What a scripted engine hears: sound at 16 kHz, and a verdict for every frame of it made from nothing but its level."""

from collections.abc import Iterator

import numpy as np

from omnitalk.engines.base import EngineError, NearEnd
from omnitalk.media.audio import Resampler, Samples, decode, level_dbfs
from omnitalk.protocol.audio_format import canonical_encoding, check_rate
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import AudioFormat

__all__ = ["FRAME", "FRAME_MS", "RATE", "SPEECH_DBFS", "LevelEar"]

RATE = 16_000
FRAME = 512
FRAME_MS = 32.0

SPEECH_DBFS = -45.0
"""Louder than this counts as speech; a page's comfort noise and a dithered silence are 20 dB below it."""


class LevelEar:
    """Decodes, resamples and frames. A new format in mid-call starts a new resampler."""

    def __init__(self) -> None:
        self.heard = 0
        self._format: AudioFormat | None = None
        self._resampler = Resampler(RATE, RATE)
        self._rest: Samples = np.empty(0, np.float32)
        self._framed = 0

    def hear(self, event: InputAudioBufferAppend, default: AudioFormat) -> Samples:
        """The event's sound. Raises ``EngineError``: bad_audio, unsupported_audio_format."""
        try:
            encoding = default.encoding if event.format is UNSET else canonical_encoding(str(event.format), param="format")
            rate = default.rate if event.sample_rate_hz is UNSET else check_rate(event.sample_rate_hz, param="sample_rate_hz")
        except ProtocolError as problem:
            raise EngineError(problem.code, problem.message, param=problem.param) from problem
        wire = AudioFormat(encoding=encoding, rate=rate)
        if wire != self._format:
            self._format, self._resampler = wire, Resampler(rate, RATE)
        try:
            samples = self._resampler.process(decode(event.audio, encoding))
        except ValueError as problem:
            raise EngineError("bad_audio", f"This sound cannot be read: {problem}.", param="audio") from problem
        self.heard += int(samples.size)
        return samples

    def frames(self, samples: Samples) -> Iterator[NearEnd]:
        """A verdict for every whole frame that these samples complete."""
        sound = np.concatenate((self._rest, samples))
        whole = sound.size // FRAME
        self._rest = sound[whole * FRAME :].copy()
        for index in range(whole):
            self._framed += FRAME
            level = level_dbfs(sound[index * FRAME : (index + 1) * FRAME])
            yield NearEnd(probability=1.0 if level > SPEECH_DBFS else 0.0, level_dbfs=level, at_ms=self._framed * 1000.0 / RATE)
