"""From a spoken clause to the pieces that go on the wire, each with the words that are said in it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omnitalk.engines.conversation import Mark
from omnitalk.media.audio import Samples

__all__ = ["Piece", "SpeechCutter", "trim"]

FIRST_PIECE_MS = 100
PIECE_MS = 200
_QUIET = 0.01
_LEAD_MS = 15
_SENTENCE_PAUSE_MS = 260
_CLAUSE_PAUSE_MS = 120
_NO_PAUSE_MS = 25


class Piece(NamedTuple):
    """``samples`` of speech, the ``words`` that begin in it (with their leading whitespace), and the marks of those that end in it."""

    samples: Samples
    words: str
    marks: list[Mark]


def trim(samples: Samples, rate: int, text: str) -> Samples:
    """Without the silence that synthesisers put around every clause; a pause that fits the punctuation is left at the end."""
    loud = np.flatnonzero(np.abs(samples) > _QUIET)
    if not loud.size:
        return samples[:0]
    pause = _pause_ms(text)
    start = max(0, int(loud[0]) - rate * _LEAD_MS // 1000)
    end = int(loud[-1]) + 1 + rate * pause // 1000
    body = samples[start:end]
    missing = end - start - body.size
    return np.concatenate([body, np.zeros(missing, np.float32)]) if missing > 0 else body


def _pause_ms(text: str) -> int:
    if re.search(r"[.!?…][\"”’)\]]*\s*$", text):
        return _SENTENCE_PAUSE_MS
    return _CLAUSE_PAUSE_MS if re.search(r"[,;:—–]\s*$", text) else _NO_PAUSE_MS


class SpeechCutter:
    """Keeps count over a whole response: characters of text and ms of sound so far."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._chars = 0
        self._ms = 0.0
        self._first = True
        self._carried = ""

    def skip(self, text: str) -> None:
        """Text that has no sound (markup, a stray bracket): it goes with the next words, if any follow."""
        self._carried += text

    def cut(self, text: str, samples: Samples) -> Iterator[Piece]:
        """Pieces of at most ``PIECE_MS`` (the response's first: ``FIRST_PIECE_MS``) of one clause.

        The clause's words are laid over its sound in proportion to their length; the last one ends with the sound.
        """
        if samples.size and text:
            text, self._carried = self._carried + text, ""
        words = re.findall(r"\s*\S+(?:\s+$)?", text)
        total_ms = samples.size * 1000.0 / self._rate
        ends = np.cumsum([len(word) for word in words]) if words else np.zeros(0)
        scale = total_ms / float(ends[-1]) if words else 0.0
        start_ms, done = self._ms, 0
        position = 0
        while position < samples.size:
            size = self._rate * (FIRST_PIECE_MS if self._first else PIECE_MS) // 1000
            self._first = False
            piece = samples[position : position + size]
            position += size
            until_ms = min(position, samples.size) * 1000.0 / self._rate
            said, marks = "", []
            # A word belongs to the piece in which it begins; its mark says when it ends.
            while done < len(words) and (float(ends[done - 1]) * scale if done else 0.0) < until_ms:
                said += words[done]
                self._chars += len(words[done])
                marks.append(Mark(self._chars, start_ms + float(ends[done]) * scale))
                done += 1
            self._ms = start_ms + until_ms
            yield Piece(piece, said, marks)
