"""How much a key may do: what may begin in a minute, and what may go on at once. As many entries as there are keys."""

from collections.abc import Callable

from omnitalk.call.clock import Clock
from omnitalk.call.flood import TokenBucket
from omnitalk.protocol.errors import ProtocolError

from .keys import Key

__all__ = ["Limits", "Seat"]


class Seat:
    """One of the things that a key has going on. It is free again after the request, or, once kept, when its keeper says so."""

    def __init__(self, free: Callable[[], None]) -> None:
        self._free: Callable[[], None] | None = free
        self._kept = False

    def keep(self) -> Callable[[], None]:
        """What was asked for goes on after the request: call the answer when it is over."""
        self._kept = True
        return self.leave

    def leave(self) -> None:
        """Frees it; a second time does nothing."""
        free, self._free = self._free, None
        if free is not None:
            free()

    def request_over(self) -> None:
        """Frees it unless it is kept."""
        if not self._kept:
            self.leave()


class Limits:
    """Time comes from ``clock``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[int, TokenBucket]] = {}
        self.inside: dict[str, int] = {}

    def begin(self, key: Key) -> None:
        """One more request or call. Raises ``ProtocolError(rate_limit_exceeded)``."""
        rate, bucket = self._buckets.get(key.name, (0, None))
        if bucket is None or rate != key.per_minute:  # the file may say another rate by now
            bucket = TokenBucket(key.per_minute / 60.0, float(key.per_minute), self._clock)
            self._buckets[key.name] = (key.per_minute, bucket)
        if not bucket.take():
            message = f"The key {key.name!r} may begin {key.per_minute} requests a minute; ask again in a moment."
            raise ProtocolError("rate_limit_exceeded", message, retryable=True)

    def enter(self, key: Key) -> Seat:
        """Something that goes on. Raises ``ProtocolError(rate_limit_exceeded)``."""
        if self.inside.get(key.name, 0) >= key.at_once:
            message = f"The key {key.name!r} may have {key.at_once} requests and calls at once; end one first."
            raise ProtocolError("rate_limit_exceeded", message, retryable=True)
        self.inside[key.name] = self.inside.get(key.name, 0) + 1

        def free() -> None:
            self.inside[key.name] -= 1

        return Seat(free)
