"""An answer's sound on its way to the page (``player.js``), and as a file."""

import base64
import io
import uuid
import wave
from collections.abc import Iterator

__all__ = ["LiveSound", "wav"]

_PIECE = 9_600
"""Bytes: 200 ms. Larger ones are cut, so that the page is never handed more than a few seconds at once."""

_FULL = 24
_LEFT = 12
"""Pieces: updates may be joined on their way, and none may be missed by a page that sees only the last of them."""


class LiveSound:
    """The newest pieces, numbered. What is shown mostly grows at its end, and then only the end is sent."""

    def __init__(self) -> None:
        self._answer = uuid.uuid4().hex[:8]
        self._pieces: list[str] = []
        self._count = 0

    @property
    def html(self) -> str:
        """For the page."""
        return f'<span data-answer="{self._answer}" hidden></span>' + "".join(self._pieces)

    def add(self, pcm: bytes) -> Iterator[str]:
        """PCM16, 24 kHz, mono: what to show, once for every piece but the last, which ``html`` shows."""
        for start in range(0, len(pcm), _PIECE):
            if start:
                yield self.html
            if len(self._pieces) == _FULL:
                del self._pieces[:-_LEFT]
            data = base64.b64encode(pcm[start : start + _PIECE]).decode()
            self._pieces.append(f'<span data-piece="{self._count}" data-pcm="{data}" hidden></span>')
            self._count += 1


def wav(pcm: bytes, rate: int = 24_000) -> bytes:
    """A file of PCM16 mono samples."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm)
    return out.getvalue()
