"""uvicorn's WebSocket protocol with two things that ASGI cannot say: how much may wait unsent, and *hang up now*.

A reader that takes nothing cannot be sent a close frame, and closing politely waits for it forever; only an abort frees the socket.
"""

import socket
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

__all__ = ["ABORT", "CallSocketProtocol"]

ABORT = "omnitalk.abort"
"""Name of the ASGI extension; its value's ``abort`` is called without arguments."""

_UNSENT_BYTES = 64 * 1024
_KERNEL_BYTES = 256 * 1024
"""Together about 4 s of 24 kHz speech in base64. Linux would let 4 MB wait, a minute of it, beyond the reach of any cut."""

_PATIENCE_S = 10.0


class CallSocketProtocol(WebSocketsSansIOProtocol):
    """Pass to ``uvicorn.Config(ws=…)``."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Bounds what waits to be sent."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=_UNSENT_BYTES)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run_asgi(self) -> None:
        """Offers the extension."""
        self.scope.setdefault("extensions", {})[ABORT] = {"abort": self.transport.abort}
        await super().run_asgi()

    async def send(self, message: Any) -> None:
        """A refusal before the upgrade is an answer like any other: uvicorn would log an error for each, and strangers can cause many."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        """A peer that answers no ping may not read either: after a last chance to take the close frame it is cut off."""
        super().keepalive_timeout()
        self.loop.call_later(_PATIENCE_S, self.transport.abort)
