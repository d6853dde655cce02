"""The sound of one response on its way out: what waits, and the last that was sent."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from omnitalk.media.audio import Resampler, Samples
from omnitalk.protocol.server import ResponseOutputAudioDelta

from .opus import SPEECH_RATE

__all__ = ["Speech"]

_RECENT = int(1.5 * SPEECH_RATE)
"""Samples that were sent and can be said again: more than a network needs to be noticed as gone."""


@dataclass(slots=True)
class Speech:
    """One response's sound. ``ended``: no more is made. ``done``: the client was told that the response is done.

    ``owed``: silence that was sent because its sound was late. ``quiet_frames``: how long a pause it is making, in frames.
    """

    response_id: str
    newest: ResponseOutputAudioDelta
    pieces: deque[Samples] = field(default_factory=deque)
    waiting: int = 0
    played: int = 0
    resamplers: dict[int, Resampler] = field(default_factory=dict)
    ended: bool = False
    done: bool = False
    holding: bool = True
    told_frames: int = 0
    owed: int = 0
    quiet_frames: int = 0
    recent: deque[Samples] = field(default_factory=deque)
    recent_samples: int = 0

    def remember(self, piece: Samples) -> None:
        """Keeps the last that was sent."""
        self.recent.append(piece)
        self.recent_samples += len(piece)
        while self.recent_samples - len(self.recent[0]) > _RECENT:
            self.recent_samples -= len(self.recent.popleft())

    def head(self, samples: int) -> Iterator[Samples]:
        """The next that will be sent; it stays."""
        for piece in self.pieces:
            if samples <= 0:
                return
            yield piece[:samples]
            samples -= len(piece)

    def take_back(self, samples: int) -> None:
        """The last that was sent is to be said again."""
        while samples > 0 and self.recent:
            piece = self.recent.pop()
            self.recent_samples -= len(piece)
            again = piece[-samples:]
            self.pieces.appendleft(again)
            self.waiting += len(again)
            self.played -= len(again)
            samples -= len(again)
