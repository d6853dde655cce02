"""Commands on their way to vLLM-Omni: in order, bounded, never waited for by whoever puts them in.

Sound that the engine does not take is given up oldest first, a whole piece at a time, and counted; anything else is refused when
the lane is full, because it cannot be given up without being told.
"""

import asyncio
from collections import deque
from typing import Any, NamedTuple

from omnitalk.engines.base import EngineError

__all__ = ["CommandLane"]

_MAX_PIECES = 50
"""Pieces of 100 ms: five seconds behind, an answer would no longer be about what was said."""

_MAX_COMMANDS = 512


class _Entry(NamedTuple):
    command: Any
    sound_ms: float


class CommandLane:
    """``put`` and ``put_sound`` add, ``get`` takes. One taker."""

    def __init__(self) -> None:
        self.dropped_ms = 0.0
        self._entries: deque[_Entry] = deque()
        self._pieces = 0
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, command: Any) -> None:
        """Add a command. Raises ``EngineError`` (``input_backpressure``) when too many wait."""
        if len(self._entries) >= _MAX_COMMANDS:
            raise EngineError(
                "input_backpressure", "The model does not keep up with this session's events.", kind="rate_limit_error", retryable=True
            )
        self._entries.append(_Entry(command, 0.0))
        self._arrived.set()

    def put_sound(self, command: Any, sound_ms: float) -> None:
        """Add a piece of sound; the oldest one goes when too many wait."""
        if self._pieces >= _MAX_PIECES:
            index = next(index for index, entry in enumerate(self._entries) if entry.sound_ms)
            self.dropped_ms += self._entries[index].sound_ms
            del self._entries[index]
            self._pieces -= 1
        self._entries.append(_Entry(command, sound_ms))
        self._pieces += 1
        self._arrived.set()

    def forget_sound(self) -> None:
        """What waits has been cancelled by the client."""
        self._entries = deque(entry for entry in self._entries if not entry.sound_ms)
        self._pieces = 0

    async def get(self) -> Any:
        """The next command; waits for it."""
        while not self._entries:
            self._arrived.clear()
            await self._arrived.wait()
        entry = self._entries.popleft()
        self._pieces -= bool(entry.sound_ms)
        return entry.command
