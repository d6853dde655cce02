"""How much a key may do: what may begin in a minute, and what may go on at once. As many entries as there are keys."""

from collections.abc import Callable

from omnitalk.call.clock import Clock
from omnitalk.call.flood import TokenBucket
from omnitalk.protocol.errors import ProtocolError

from .keys import Key

__all__ = ["Limits"]


class Limits:
    """Time comes from ``clock``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, TokenBucket] = {}
        self.inside: dict[str, int] = {}

    def begin(self, key: Key) -> None:
        """One more request or call. Raises ``ProtocolError(rate_limit_exceeded)``."""
        if key.name not in self._buckets:
            self._buckets[key.name] = TokenBucket(key.per_minute / 60.0, float(key.per_minute), self._clock)
        if not self._buckets[key.name].take():
            message = f"The key {key.name!r} may begin {key.per_minute} requests a minute; ask again in a moment."
            raise ProtocolError("rate_limit_exceeded", message, retryable=True)

    def enter(self, key: Key) -> Callable[[], None]:
        """Something that goes on; call the answer once when it is over. Raises ``ProtocolError(rate_limit_exceeded)``."""
        if self.inside.get(key.name, 0) >= key.at_once:
            message = f"The key {key.name!r} may have {key.at_once} requests and calls at once; end one first."
            raise ProtocolError("rate_limit_exceeded", message, retryable=True)
        self.inside[key.name] = self.inside.get(key.name, 0) + 1
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self.inside[key.name] -= 1

        return leave
