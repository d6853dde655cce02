"""How long people wait for an answer: from the end of their turn to the first sound of the reply, as the server sees it."""

from bisect import bisect_left

from omnitalk.call.clock import Clock
from omnitalk.engines.base import EngineEvent
from omnitalk.protocol.server import InputAudioBufferCommitted, ResponseCreated, ResponseDone, ResponseOutputAudioDelta

__all__ = ["BOUNDS_S", "FirstSound", "WaitHistogram"]

BOUNDS_S = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.2, 1.6, 2.5, 4.0, 8.0)
"""Close together around what a conversation bears (a second), wide apart beyond."""


class WaitHistogram:
    """Counts of waits, in buckets that end at ``BOUNDS_S`` and one above."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
        """Counts one wait."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class FirstSound:
    """Watches one call's engine events."""

    def __init__(self, clock: Clock, histogram: WaitHistogram) -> None:
        self._clock, self._histogram = clock, histogram
        self._since: float | None = None

    def see(self, event: EngineEvent) -> None:
        """The next event. A turn begins to wait when it is committed, a typed one when its response is created."""
        match event:
            case InputAudioBufferCommitted():
                self._since = self._clock.now()
            case ResponseCreated() if self._since is None:
                self._since = self._clock.now()
            case ResponseOutputAudioDelta() if self._since is not None:
                self._histogram.observe(self._clock.now() - self._since)
                self._since = None
            case ResponseDone():
                # It ended without a sound, or its sound was counted.
                self._since = None
            case _:
                pass
