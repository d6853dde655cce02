"""The server's end of the page's socket, in the test's hands: it says what a server would say, and reads what the page sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

PATIENCE_S = 10


@dataclass
class Line:
    """``received``: the JSON events that came from the page. ``answers``: whether a call is opened as soon as the page asks."""

    port: int = 0
    received: list[dict[str, Any]] = field(default_factory=list)
    answers: bool = True
    _server: Server | None = None
    _socket: ServerConnection | None = None
    _seq: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"

    async def handle(self, socket: ServerConnection) -> None:
        """One socket, to its end."""
        self._socket = socket
        try:
            async for frame in socket:
                if isinstance(frame, str):  # binary frames are microphone sound
                    await self._take(json.loads(frame))
        except ConnectionClosed:
            return  # cut by the test, or hung up by the page; tests that care look at what came before

    async def _take(self, event: dict[str, Any]) -> None:
        self.received.append(event)
        self._changed.set()
        if event["type"] == "session.update" and self.answers:
            await self.open()
        elif event["type"] == "session.heartbeat":
            await self.say("session.heartbeat_ack")

    async def open(self) -> None:
        """Tells the page that its call has begun."""
        await self.say("session.created", session_id="call_1", resume_token="token", session={"id": "call_1"})

    async def say(self, kind: str, **fields: Any) -> None:
        """One numbered server event."""
        assert self._socket is not None, "the page has not called yet"
        self._seq += 1
        event = {"type": kind, "event_id": f"event_{self._seq}", "server_event_seq": self._seq, **fields}
        await self._socket.send(json.dumps(event))

    async def got(self, kind: str) -> dict[str, Any]:
        """The first event of this type from the page; waits for it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.received:
                    if event["type"] == kind:
                        return event
                self._changed.clear()
                await self._changed.wait()

    def cut(self) -> None:
        """The network is gone, without a word."""
        assert self._socket is not None
        self._socket.transport.abort()

    def close(self) -> None:
        """Cuts the connection and takes no other."""
        assert self._server is not None
        self._server.close(close_connections=False)
        self.cut()


@asynccontextmanager
async def listening() -> AsyncIterator[Line]:
    """A line on a free port."""
    line = Line()
    protocols = [Subprotocol("omnitalk.binary.v1")]
    async with serve(line.handle, "127.0.0.1", 0, subprotocols=protocols, close_timeout=0.5) as server:
        line._server = server
        line.port = next(iter(server.sockets)).getsockname()[1]
        yield line
