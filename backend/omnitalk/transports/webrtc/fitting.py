"""Events as data-channel messages of a bounded size. SCTP cuts a message into packets that fit any path (1,189 bytes); what a
message may hold in all is the peer's to say, and a large one keeps those behind it waiting.
"""

from typing import Any

import msgspec

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.json_codec import encode_server

__all__ = ["MAX_MESSAGE_BYTES", "fit"]

MAX_MESSAGE_BYTES = 60_000
"""Below the 65,536 that every peer must take (RFC 8841, 6.1). Ordinary events have 200 to 4,000 bytes."""

_SHORTEST = 512
"""Strings up to this length are left alone."""


def fit(event: ServerEvent, limit: int = MAX_MESSAGE_BYTES) -> str:
    """The event's JSON. One that is too long keeps its shape but loses the ends of its longest strings (pictures, long texts),
    and says so in ``omnitalk_shortened``; a WebSocket carries it whole.
    """
    text = encode_server(event)
    if len(text) <= limit // 4 or len(text.encode()) <= limit:
        return text
    body: dict[str, Any] = msgspec.json.decode(text)
    body["omnitalk_shortened"] = True
    longest = limit // 2
    while longest >= _SHORTEST:
        text = msgspec.json.encode(_shorten(body, longest)).decode()
        if len(text.encode()) <= limit:
            return text
        longest //= 2
    # Not strings but their number: only what names the event is left.
    kept = {key: value for key, value in body.items() if not isinstance(value, dict | list)}
    return msgspec.json.encode(_shorten(kept, _SHORTEST)).decode()


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else value[:longest]
    if isinstance(value, list):
        return [_shorten(each, longest) for each in value]
    if isinstance(value, dict):
        return {key: _shorten(each, longest) for key, each in value.items()}
    return value
