"""Events as JSON text: what every client speaks. Sound and pictures are base64 strings."""

import msgspec

from .base import ClientEvent, ServerEvent
from .client import AnyClientEvent
from .decoding import client_event, json_object, server_event
from .errors import ProtocolError
from .limits import MAX_EVENT_BYTES

__all__ = ["decode_client", "decode_server", "encode_client", "encode_server"]


def decode_client(data: str | bytes) -> AnyClientEvent:
    """A client's event. Raises ``ProtocolError``: event_too_large, invalid_json, bad_event, unknown_event, bad_audio …"""
    _check_size(data)
    return client_event(json_object(data))


def decode_server(data: str | bytes) -> ServerEvent:
    """A server's event, as a client reads it. Raises ``ProtocolError``."""
    return server_event(json_object(data))


def encode_client(event: ClientEvent) -> str:
    """The text of a client's event."""
    return msgspec.json.encode(event).decode()


def encode_server(event: ServerEvent) -> str:
    """The text of a server's event."""
    return msgspec.json.encode(event).decode()


def _check_size(data: str | bytes) -> None:
    # A character is at least one byte, so a longer text is too long whatever it holds; a shorter one is counted in bytes only when close.
    size = len(data)
    if isinstance(data, str) and MAX_EVENT_BYTES // 4 < size <= MAX_EVENT_BYTES:
        size = len(data.encode("utf-8", "surrogatepass"))
    if size > MAX_EVENT_BYTES:
        raise ProtocolError("event_too_large", f"An event has at most {MAX_EVENT_BYTES} bytes, not {size}.")
