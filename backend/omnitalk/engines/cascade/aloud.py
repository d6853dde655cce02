"""Text to a stream of speech, clause by clause."""

from collections.abc import AsyncGenerator

import numpy as np

from omnitalk.media.audio import Resampler, encode

from .clauses import ClauseSplitter, speakable
from .speech import trim
from .stages import Stages

__all__ = ["RATE", "Narrator"]

RATE = 24_000


class Narrator:
    """Speaks clauses one after the other as PCM16 at 24 kHz."""

    def __init__(self, stages: Stages, key: str, speed: float = 1.0) -> None:
        self._stages, self._key, self._speed = stages, key, speed
        self._splitter, self._resampler = ClauseSplitter(), Resampler(stages.tts.rate, RATE, "HQ")

    async def more(self, text: str) -> AsyncGenerator[bytes, None]:
        """The clauses that this text completes."""
        for clause in self._splitter.feed(text):
            if sound := await self._say(clause):
                yield sound

    async def rest(self) -> AsyncGenerator[bytes, None]:
        """What is left at the end."""
        for clause in self._splitter.flush():
            if sound := await self._say(clause):
                yield sound
        if sound := encode(self._resampler.process(np.zeros(0, np.float32), last=True), "pcm16"):
            yield sound

    async def _say(self, clause: str) -> bytes:
        text = speakable(clause)
        if not text:
            return b""
        sound = trim(await self._stages.say(self._key, text, self._speed, first=False), self._stages.tts.rate, text)
        return encode(self._resampler.process(sound), "pcm16")
