"""Answers that are sent while they are being made, as they are or as server-sent events."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .presence import while_present

__all__ = ["ByteStream", "event"]


def event(data: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


class ByteStream(Response):
    """Sends pieces as they come. ``close`` is awaited at the end, however it comes; a client that goes ends the work at once."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        close: Callable[[], Awaitable[None]],
        *,
        media_type: str,
    ) -> None:
        self._pieces, self._close = pieces, close
        super().__init__(None, media_type=media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        try:
            await while_present(receive, self._pump(send))
        except ClientDisconnect:
            # Nobody is there to be told.
            return
        finally:
            await self._close()

    async def _pump(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
