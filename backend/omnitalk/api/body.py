"""Reads a request's body within bounds of size and time."""

import asyncio

from fastapi import Request

from omnitalk.protocol.errors import ProtocolError

__all__ = ["BodyLimits", "content_type", "read_body"]

_DRAIN = 4
"""A body that is too large is read (and thrown away) up to so many times the limit, so that the refusal arrives: a client that is
still sending when the connection closes would see a reset instead."""


class BodyLimits:
    """``within_s``: for the whole body; a client that sends a byte now and then is sent away."""

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
        async with asyncio.timeout(limits.within_s):
            async for piece in request.stream():
                size += len(piece)
                if size <= limits.most:
                    body += piece
                else:
                    body.clear()
                if size > _DRAIN * limits.most:
                    raise refused
    except TimeoutError:
        raise ProtocolError("request_timeout", f"The whole body must arrive within {limits.within_s:g} s.") from None
    if size > limits.most:
        raise refused
    if not request.headers.get("content-length") and not body:
        raise ProtocolError("invalid_json", "The request has no body.")
    return bytes(body)
