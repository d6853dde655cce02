"""What a scripted engine hears: sound at 16 kHz, and a verdict for every frame of it made from nothing but its level."""

from collections.abc import Iterator

import numpy as np

from omnitalk.engines.base import NearEnd
from omnitalk.engines.sound_in import SoundIn, wire_format
from omnitalk.media.audio import Samples, level_dbfs
from omnitalk.protocol.client import InputAudioBufferAppend
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
        self._sound = SoundIn(RATE)
        self._rest: Samples = np.empty(0, np.float32)
        self._framed = 0

    def hear(self, event: InputAudioBufferAppend, default: AudioFormat) -> Samples:
        """The event's sound. Raises ``EngineError``: bad_audio, unsupported_audio_format."""
        samples = self._sound.samples(event.audio, wire_format(event, default))
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
