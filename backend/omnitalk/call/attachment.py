"""One socket's hold on a call."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import ResponseOutputAudioDelta

__all__ = ["Attachment"]


@dataclass(slots=True, eq=False)
class Attachment:
    """``prelude``: what is said first and never replayed. ``cursor``: number of the last event taken from the journal.

    ``ended``: why nothing more comes once the prelude is empty (session_replaced, session_closed, detached); None while it lives.
    ``take_unplayed``: of a transport that plays the sound itself: gives up what it has not played, for whoever comes next.
    ``token``: what its client may resume the call with.
    ``away``: of such a transport, while its listener is out of reach.
    ``starts``: where in its response the first sound lies that this transport was given, ms.
    """

    generation: int
    token: str = field(default="", repr=False)
    cursor: int = 0
    prelude: deque[ServerEvent] = field(default_factory=deque)
    ended: str | None = None
    take_unplayed: Callable[[], list[ResponseOutputAudioDelta]] | None = None
    away: bool = False
    starts: dict[str, float] = field(default_factory=dict)
