"""Time, handed in from outside: every timer of a call reads this, so a test can run an hour in no time."""

import time
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock"]


class Clock(Protocol):
    """Seconds that never run backwards; only differences mean anything."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is told to move. For tests."""

    def __init__(self, start: float = 1_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """The time it was moved to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Moves on. Raises ``ValueError`` for a step backwards."""
        if seconds < 0:
            raise ValueError("A monotonic clock does not run backwards.")
        self._now += seconds
