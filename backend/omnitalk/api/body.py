"""Reads a request's body within bounds of size and time."""

import asyncio

from fastapi import Request

from omnitalk.protocol.errors import ProtocolError

__all__ = ["BodyLimits", "content_type", "read_body"]

_DRAIN = 4
"""A body that is too large is read (and thrown away) up to so many times the limit, so that the refusal arrives: a client that is
still sending when the connection closes would see a reset instead."""


_PATIENCE_S = 10.0
_SLOWEST = 50_000
"""A body must arrive at this many bytes a second after so many seconds of patience: whoever sends a byte now and then keeps a place
that others wait for.
"""


class BodyLimits:
    """``within_s``: for the whole body, at the most."""

    def __init__(self, most: int, within_s: float) -> None:
        self.most, self.within_s = most, within_s


def content_type(request: Request) -> str:
    """Without parameters, in lower case."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


async def read_body(request: Request, limits: BodyLimits) -> bytes:
    """The body. Raises ``ProtocolError``: ``body_too_large``, ``request_timeout``; Starlette's ``ClientDisconnect``."""
    refused = ProtocolError("body_too_large", f"The request has at most {limits.most} bytes.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > _DRAIN * limits.most:
        raise refused
    body = bytearray()
    size = 0
    try:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout(min(_PATIENCE_S, limits.within_s)) as waiting:
            async for piece in request.stream():
                size += len(piece)
                waiting.reschedule(begun + min(limits.within_s, _PATIENCE_S + size / _SLOWEST))
                if size <= limits.most:
                    body += piece
                else:
                    body.clear()
                if size > _DRAIN * limits.most:
                    raise refused
    except TimeoutError:
        raise ProtocolError(
            "request_timeout", f"The body arrived too slowly ({size} bytes so far); it has {limits.within_s:g} s at most."
        ) from None
    if size > limits.most:
        raise refused
    if not request.headers.get("content-length") and not body:
        raise ProtocolError("invalid_json", "The request has no body.")
    return bytes(body)
