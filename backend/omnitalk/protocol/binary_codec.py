"""Events as binary frames (WebSocket subprotocol ``omnitalk.binary.v1``): sound and pictures as they are, without base64.

A frame, all integers little-endian::

    b"OT" | u8 version = 1 | u8 n | u32 header bytes | n x u32 blob bytes | header | blobs

The header is the event as JSON without its binary fields. ``input_audio_buffer.append``: blob 0 is ``audio``, the rest are
``video_frames``. ``response.output_audio.delta``: blob 0 is ``delta``. Any other event has no blobs and travels better as text.
"""

import struct
from typing import Any, Final

import msgspec

from .base import UNSET, ClientEvent, JsonObject, ServerEvent
from .client import AnyClientEvent, InputAudioBufferAppend
from .decoding import client_event, json_object, readable_event_id, server_event
from .errors import ProtocolError
from .limits import MAX_EVENT_BYTES
from .server import ResponseOutputAudioDelta

__all__ = ["SUBPROTOCOL", "decode_client", "decode_server", "encode_client", "encode_server", "has_blobs"]

SUBPROTOCOL: Final = "omnitalk.binary.v1"

_MAGIC: Final = b"OT"
_VERSION: Final = 1
_PREFIX: Final = struct.Struct("<2sBBI")


def has_blobs(event: ClientEvent | ServerEvent) -> bool:
    """Whether this event is worth a binary frame; any other is sent as JSON text."""
    return isinstance(event, InputAudioBufferAppend | ResponseOutputAudioDelta)


def encode_client(event: ClientEvent) -> bytes:
    """A client event's frame."""
    blobs: list[bytes] = []
    header: JsonObject = msgspec.to_builtins(event, builtin_types=(bytes,))
    if isinstance(event, InputAudioBufferAppend):
        header.pop("audio", None)
        blobs = [event.audio]
        if event.video_frames:
            del header["video_frames"]
            blobs += event.video_frames
    return _pack(header, blobs)


def encode_server(event: ServerEvent) -> bytes:
    """A server event's frame."""
    blobs: list[bytes] = []
    header: JsonObject = msgspec.to_builtins(event, builtin_types=(bytes,))
    if isinstance(event, ResponseOutputAudioDelta):
        blobs = [header.pop("delta")]
    return _pack(header, blobs)


def decode_client(frame: bytes) -> AnyClientEvent:
    """A client's event. Raises ``ProtocolError``."""
    if len(frame) > MAX_EVENT_BYTES:
        raise ProtocolError("event_too_large", f"An event has at most {MAX_EVENT_BYTES} bytes, not {len(frame)}.")
    header, blobs = _unpack(frame)
    fields: dict[str, Any] = {}
    if header.get("type") == "input_audio_buffer.append":
        _refuse_inline(header, "audio", "delta")
        if blobs:
            fields["audio"] = blobs[0]
        if len(blobs) > 1:
            _refuse_inline(header, "video_frames")
            fields["video_frames"] = blobs[1:]
    else:
        _refuse_blobs(header, blobs, 0)
    return client_event(header, fields)


def decode_server(frame: bytes) -> ServerEvent:
    """A server's event, as a client reads it. Raises ``ProtocolError``."""
    header, blobs = _unpack(frame)
    if header.get("type") != "response.output_audio.delta":
        _refuse_blobs(header, blobs, 0)
        return server_event(header)
    _refuse_inline(header, "delta")
    _refuse_blobs(header, blobs, 1)
    return server_event(header, {"delta": blobs[0]} if blobs else {})


def _pack(header: JsonObject, blobs: list[bytes]) -> bytes:
    text = msgspec.json.encode(header)
    lengths = struct.pack(f"<{len(blobs)}I", *map(len, blobs))
    return b"".join((_PREFIX.pack(_MAGIC, _VERSION, len(blobs), len(text)), lengths, text, *blobs))


def _unpack(frame: bytes) -> tuple[JsonObject, list[bytes]]:
    if len(frame) < _PREFIX.size:
        raise ProtocolError("bad_event", f"A binary frame has at least {_PREFIX.size} bytes.", param="frame")
    magic, version, count, header_size = _PREFIX.unpack_from(frame)
    if magic != _MAGIC:
        raise ProtocolError("bad_event", "A binary frame starts with the bytes `OT`.", param="frame.magic")
    if version != _VERSION:
        raise ProtocolError("bad_event", f"Binary frame version {version} is not known: use {_VERSION}.", param="frame.version")
    start = _PREFIX.size + 4 * count
    if len(frame) < start:
        raise ProtocolError("bad_event", "The binary frame ends within its blob lengths.", param="frame.blobs")
    sizes = struct.unpack_from(f"<{count}I", frame, _PREFIX.size)
    if start + header_size + sum(sizes) != len(frame):
        raise ProtocolError("bad_event", "The lengths in the binary frame do not add up to its size.", param="frame.length")
    view = memoryview(frame)
    header = json_object(bytes(view[start : start + header_size]))
    blobs: list[bytes] = []
    at = start + header_size
    for size in sizes:
        blobs.append(bytes(view[at : at + size]))
        at += size
    return header, blobs


def _refuse_inline(header: JsonObject, *fields: str) -> None:
    for field in fields:
        if header.get(field, UNSET) not in (UNSET, None, []):
            raise ProtocolError(
                "bad_event", f"In a binary frame {field} is a blob, not a JSON field.", param=field, event_id=readable_event_id(header)
            )


def _refuse_blobs(header: JsonObject, blobs: list[bytes], most: int) -> None:
    if len(blobs) > most:
        raise ProtocolError(
            "bad_event", f"This event takes {most} blobs, not {len(blobs)}.", param="frame.blobs", event_id=readable_event_id(header)
        )
