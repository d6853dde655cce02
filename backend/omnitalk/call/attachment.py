"""One socket's hold on a call."""

from collections import deque
from dataclasses import dataclass, field

from omnitalk.protocol.base import ServerEvent

__all__ = ["Attachment"]


@dataclass(slots=True, eq=False)
class Attachment:
    """``prelude``: what is said first and never replayed. ``cursor``: number of the last event taken from the journal.

    ``ended``: why nothing more comes once the prelude is empty (session_replaced, session_closed, detached); None while it lives.
    """

    generation: int
    cursor: int = 0
    prelude: deque[ServerEvent] = field(default_factory=deque)
    ended: str | None = None
