"""What a client may say while its call is being opened: kept for later, answered now, or the end of the wait."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from starlette.websockets import WebSocketDisconnect

from omnitalk.hub import CallRunner
from omnitalk.protocol import client
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import SessionHeartbeatAck

__all__ = ["WaitingRoom"]

_MAX_KEPT = 256
"""Events kept for the call; 256 pieces of 20 ms are 5 s of sound. The oldest sound goes first: nobody answers stale words."""


class WaitingRoom:
    """Reads the socket while a call opens, so that a caller who leaves frees the place at once."""

    def __init__(
        self,
        read: Callable[[], Awaitable[AnyClientEvent]],
        say: Callable[[ServerEvent], Awaitable[None]],
        first: tuple[AnyClientEvent, ...],
    ) -> None:
        self._read, self._say = read, say
        self._kept: deque[AnyClientEvent] = deque(first)

    @property
    def said_meanwhile(self) -> list[AnyClientEvent]:
        """In order; for the call, once it is there."""
        return list(self._kept)

    async def wait_for(self, opening: Coroutine[Any, Any, CallRunner]) -> CallRunner:
        """The call. Raises what ``opening`` raises, or ``WebSocketDisconnect`` when the client leaves first."""
        call = asyncio.create_task(opening, name="opening")
        listening = asyncio.create_task(self._listen(), name="waiting room")
        try:
            await asyncio.wait({call, listening}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
            listening.result()
            raise AssertionError("the waiting room only ends by an exception")
        finally:
            await self._stop(call, listening)

    async def _stop(self, call: asyncio.Task[CallRunner], listening: asyncio.Task[None]) -> None:
        was_open = call.done()
        for task in (call, listening):
            task.cancel()
        opened, _ = await asyncio.gather(call, listening, return_exceptions=True)
        if isinstance(opened, CallRunner) and not was_open:
            # It came through in the very moment the client left.
            await opened.end("client_gone")

    async def _listen(self) -> None:
        while True:
            try:
                event = await self._read()
            except ProtocolError as problem:
                await self._say(problem.to_event())
                continue
            match event:
                case client.OmnitalkQueueLeave() | client.SessionClose():
                    raise WebSocketDisconnect(1000)
                case client.SessionHeartbeat():
                    await self._say(SessionHeartbeatAck())
                case _:
                    self._keep(event)

    def _keep(self, event: AnyClientEvent) -> None:
        if len(self._kept) >= _MAX_KEPT:
            for index, kept in enumerate(self._kept):
                if isinstance(kept, client.InputAudioBufferAppend):
                    del self._kept[index]
                    break
            else:
                self._kept.popleft()
        self._kept.append(event)
