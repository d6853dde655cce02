"""A reply's sound: one sine, without clicks at its ends, handed out piece by piece with the words that fall into each piece."""

from typing import NamedTuple

import numpy as np

from omnitalk.engines.conversation import Mark
from omnitalk.media.audio import encode
from omnitalk.protocol.session import AudioFormat

from .script import Reply

__all__ = ["Piece", "ToneVoice"]

_LEVEL = 0.25
_FADE_S = 0.005


class Piece(NamedTuple):
    """Wire bytes, their length, the words said in them, and when those words have been said (cumulative)."""

    data: bytes
    duration_ms: float
    words: str
    marks: list[Mark]


class ToneVoice:
    """Says a reply at the wire's rate and encoding."""

    def __init__(self, reply: Reply, hz: float, wire: AudioFormat) -> None:
        self._hz, self._wire = hz, wire
        self._samples = round(reply.seconds * wire.rate)
        self._at = 0
        words = reply.words.split()
        self._words = [word if index == 0 else f" {word}" for index, word in enumerate(words)]
        self._said = 0
        self._chars = 0

    @property
    def left(self) -> bool:
        """Whether something is still to be said."""
        return self._at < self._samples

    def say(self, ms: float) -> Piece:
        """The next ``ms`` of sound, or what is left of it."""
        start, end = self._at, min(self._samples, self._at + round(ms * self._wire.rate / 1000))
        self._at = end
        index = np.arange(start, end)
        ends = np.minimum(index, self._samples - 1 - index) / (_FADE_S * self._wire.rate)
        sound = _LEVEL * np.sin(2.0 * np.pi * self._hz * index / self._wire.rate) * np.clip(ends, 0.0, 1.0)
        data = encode(sound.astype(np.float32), self._wire.encoding)
        words, marks = self._words_until(end)
        return Piece(data, (end - start) * 1000.0 / self._wire.rate, words, marks)

    def _words_until(self, end: int) -> tuple[str, list[Mark]]:
        text, marks = "", []
        while self._said < len(self._words):
            over = (self._said + 1) * self._samples / len(self._words)
            if over > end + 0.5:
                break
            word = self._words[self._said]
            self._said += 1
            self._chars += len(word)
            text += word
            marks.append(Mark(self._chars, over * 1000.0 / self._wire.rate))
        return text, marks
