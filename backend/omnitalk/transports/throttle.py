"""How fast one socket may be read. Who sends more waits: the frames stay in the sender's own buffers."""

import asyncio
from collections.abc import Awaitable, Callable

from omnitalk.call.clock import Clock

__all__ = ["Throttle"]

RATE_BYTES_S = 12 * 1024 * 1024
"""Two camera frames of the largest size a second, in base64, are 8 MB."""

BURST_BYTES = 36 * 1024 * 1024
"""Two events of the largest size at once."""

EVENT_BYTES = 4 * 1024
"""What an event costs however small it is: 3,000 a second at most, ten times what a busy page sends."""

_BREATHE_EVERY = 32
"""After so many events in a row others get their turn, which reading what has already arrived would not give them."""


class Throttle:
    """A bucket of bytes. ``pay`` waits while it is overdrawn."""

    def __init__(self, clock: Clock, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._clock, self._sleep = clock, sleep
        self._left, self._at = float(BURST_BYTES), clock.now()
        self._in_a_row = 0

    async def pay(self, size: int) -> None:
        """Accounts for an event of this many bytes."""
        now = self._clock.now()
        self._left = min(float(BURST_BYTES), self._left + (now - self._at) * RATE_BYTES_S) - size - EVENT_BYTES
        self._at = now
        self._in_a_row += 1
        if self._left < 0:
            await self._sleep(-self._left / RATE_BYTES_S)
        elif self._in_a_row >= _BREATHE_EVERY:
            self._in_a_row = 0
            await self._sleep(0)
