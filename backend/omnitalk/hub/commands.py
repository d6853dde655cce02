"""The bounded queue between a call and its engine session."""

import asyncio
from collections import deque

from omnitalk.engines.base import Command
from omnitalk.protocol.client import InputAudioBufferAppend

__all__ = ["CommandQueue"]


class CommandQueue:
    """FIFO of commands, bounded in number and in bytes of sound and pictures.

    When full, the oldest microphone sound is given up and counted; without any, the oldest command, whose sender is to be told.
    512 commands are 10 s of 20 ms pieces, far more than a live engine lags; two events of the largest size always fit.
    """

    def __init__(self, limit: int = 512, limit_bytes: int = 32 * 1024 * 1024) -> None:
        self._limit, self._limit_bytes = limit, limit_bytes
        self._waiting: deque[Command] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self.dropped_bytes = 0
        self.dropped_commands = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, command: Command) -> list[Command]:
        """Adds a command at the end; never waits. Returns those, other than sound, that were given up for it."""
        size = _size(command)
        given_up: list[Command] = []
        while self._waiting and (len(self._waiting) >= self._limit or self._bytes + size > self._limit_bytes):
            given_up += self._give_way()
        self._waiting.append(command)
        self._bytes += size
        self._filled.set()
        return given_up

    async def get(self) -> Command:
        """The next command, when there is one. One consumer."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        command = self._waiting.popleft()
        self._bytes -= _size(command)
        return command

    def _give_way(self) -> list[Command]:
        for index, command in enumerate(self._waiting):
            if isinstance(command, InputAudioBufferAppend):
                self.dropped_bytes += len(command.audio)
                self._bytes -= _size(command)
                del self._waiting[index]
                return []
        self.dropped_commands += 1
        return [self._waiting.popleft()]


def _size(command: Command) -> int:
    if not isinstance(command, InputAudioBufferAppend):
        return 0
    return len(command.audio) + sum(len(frame) for frame in command.video_frames or [])
