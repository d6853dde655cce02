"""The bounded queue between a call and its engine session."""

import asyncio
from collections import deque

from omnitalk.engines.base import Command
from omnitalk.protocol.client import InputAudioBufferAppend

__all__ = ["CommandQueue"]


class CommandQueue:
    """FIFO of commands. When full, the oldest microphone sound is given up and counted; without any, the oldest command.

    ``dropped_bytes``: sound that was given up. ``limit``: 512 commands are 10 s of 20 ms pieces, far more than a live engine lags.
    """

    def __init__(self, limit: int = 512) -> None:
        self._limit = limit
        self._waiting: deque[Command] = deque()
        self._filled = asyncio.Event()
        self.dropped_bytes = 0
        self.dropped_commands = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, command: Command) -> None:
        """Adds a command at the end; never waits."""
        if len(self._waiting) >= self._limit:
            self._give_way()
        self._waiting.append(command)
        self._filled.set()

    async def get(self) -> Command:
        """The next command, when there is one. One consumer."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()

    def _give_way(self) -> None:
        for index, command in enumerate(self._waiting):
            if isinstance(command, InputAudioBufferAppend):
                self.dropped_bytes += len(command.audio)
                del self._waiting[index]
                return
        self._waiting.popleft()
        self.dropped_commands += 1
