"""Cuts a text that is still being written into clauses that can be spoken.

The first clause is short, because the person waits for it; later ones are whole sentences where possible, because they sound better.
"""

import re

__all__ = ["ClauseSplitter", "speakable"]

_FIRST_MIN_CHARS = 8
_FIRST_MAX_WORDS = 8
_LATER_MIN_CHARS = 40
_LATER_MAX_WORDS = 40
_SENTENCE_END = re.compile(r"[.!?…][\"”’)\]]*(?=\s)|\n+")
_PAUSE = re.compile(r"[,;:—–](?=\s)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|No|[A-Z])\.$")
_MARKUP = re.compile(r"```\w*|[*_#`~|]+|^\s*[-•]\s+", re.M)


class ClauseSplitter:
    """Feed it what the model writes; it gives clauses that add up to the same text, whitespace included."""

    def __init__(self) -> None:
        self._text = ""
        self._first = True

    def feed(self, delta: str) -> list[str]:
        """The clauses that this delta completes."""
        self._text += delta
        found = []
        while (end := self._boundary()) is not None:
            found.append(self._text[:end])
            self._text = self._text[end:]
            self._first = False
        return found

    def flush(self) -> list[str]:
        """What is left, at the end of the text."""
        rest, self._text = self._text, ""
        return [rest] if rest.strip() else []

    def _boundary(self) -> int | None:
        """Where the first complete clause ends, whichever rule ends it first."""
        ends = []
        least = _FIRST_MIN_CHARS if self._first else 2
        for match in _SENTENCE_END.finditer(self._text):
            head = self._text[: match.end()]
            if len(head.strip()) >= least and not _ABBREVIATION.search(head):
                ends.append(match.end())
                break
        least = _FIRST_MIN_CHARS if self._first else _LATER_MIN_CHARS
        for match in _PAUSE.finditer(self._text):
            if len(self._text[: match.end()].strip()) >= least:
                ends.append(match.end())
                break
        most = _FIRST_MAX_WORDS if self._first else _LATER_MAX_WORDS
        # The last word may still grow, so it stays behind.
        words = list(re.finditer(r"\S+(?=\s)", self._text))
        if len(words) >= most:
            ends.append(words[most - 1].end())
        return min(ends, default=None)


def speakable(clause: str) -> str:
    """The clause without the markup that a text model lets slip; empty when nothing is left to say."""
    text = re.sub(r"\s+", " ", _MARKUP.sub(" ", clause)).strip()
    return text if re.search(r"\w", text) else ""
