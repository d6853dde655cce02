"""From a JSON object to a typed event: the part that the JSON and the binary codec share.

Whatever the object holds, the only exception that leaves here is ``ProtocolError``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from . import client, server
from .aliases import fold_client, fold_server
from .base import ClientEvent, JsonObject, ServerEvent
from .client import AnyClientEvent, InputAudioBufferAppend
from .errors import ProtocolError
from .limits import MAX_DEPTH, MAX_VIDEO_FRAME_BYTES, MAX_VIDEO_FRAMES

__all__ = ["CLIENT_EVENTS", "SERVER_EVENTS", "client_event", "json_object", "readable_event_id", "server_event"]

_E = TypeVar("_E", bound=msgspec.Struct)
_MAX_EVENT_ID: Final = 512
_PATH = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<field>[^`]+)`")
_PICTURE_MAGIC: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


def _by_name(module: Any, base: type[_E]) -> Mapping[str, type[_E]]:
    found: dict[str, type[_E]] = {}
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, base) and isinstance(value.__struct_config__.tag, str):
            found[value.__struct_config__.tag] = value
    abstract = ("ClientEvent", "ServerEvent", "ResponseScoped")
    return {name: kind for name, kind in found.items() if kind.__name__ not in abstract}


CLIENT_EVENTS: Final = _by_name(client, ClientEvent)
"""Every client event by its wire name."""

SERVER_EVENTS: Final = _by_name(server, ServerEvent)
"""Every server event by its wire name."""


def json_object(data: str | bytes) -> JsonObject:
    """The JSON object in a text. Raises ``ProtocolError``: invalid_json, or ``bad_event`` when it is JSON but no object."""
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise ProtocolError("bad_event", f"The event is nested deeper than {MAX_DEPTH} levels.") from None
    except (msgspec.MsgspecError, UnicodeError) as problem:
        raise ProtocolError("invalid_json", f"The event is not valid JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise ProtocolError("bad_event", "An event is a JSON object with a `type`.")
    if (data.count("{") + data.count("[") if isinstance(data, str) else data.count(b"{") + data.count(b"[")) > MAX_DEPTH:
        _check_depth(value)
    return value


def readable_event_id(value: JsonObject) -> str | None:
    """The event's own id, if it has one that can be echoed."""
    event_id = value.get("event_id")
    return event_id if isinstance(event_id, str) and len(event_id) <= _MAX_EVENT_ID else None


def client_event(value: JsonObject, blobs: Mapping[str, Any] | None = None) -> AnyClientEvent:
    """A client event of a JSON object; ``blobs`` are its binary fields. Raises ``ProtocolError``, with the event's id."""
    try:
        kind = _kind(value, fold_client, CLIENT_EVENTS)
        event = _convert({**kind[0], **(blobs or {})}, kind[1])
        if isinstance(event, InputAudioBufferAppend):
            _check_append(event)
    except ProtocolError as problem:
        problem.event_id = readable_event_id(value)
        raise
    return event  # type: ignore[return-value]


def server_event(value: JsonObject, blobs: Mapping[str, Any] | None = None) -> ServerEvent:
    """A server event of a JSON object. Raises ``ProtocolError``."""
    folded, kind = _kind(value, fold_server, SERVER_EVENTS)
    return _convert({**folded, **(blobs or {})}, kind)


def _kind(value: JsonObject, fold: Any, events: Mapping[str, type[_E]]) -> tuple[JsonObject, type[_E]]:
    name = value.get("type")
    if not isinstance(name, str):
        raise ProtocolError("bad_event", "The event has no `type`." if name is None else "`type` is a string.", param="type")
    folded: JsonObject = fold(value)
    kind = events.get(folded["type"])
    if kind is None:
        raise ProtocolError("unknown_event", f"There is no event named {name[:80]!r}.", param="type")
    return folded, kind


def _convert(value: JsonObject, kind: type[_E]) -> _E:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError, ValueError) as problem:
        raise _refusal(str(problem)) from None
    except RecursionError:
        raise ProtocolError("bad_event", f"The event is nested deeper than {MAX_DEPTH} levels.") from None


def _refusal(said: str) -> ProtocolError:
    """msgspec's words, with the path taken out of them."""
    at = _PATH.search(said)
    param = at["path"] if at else ""
    words = _PATH.sub("", said).replace("`bytes`", "a base64 string")
    if missing := _MISSING.search(said):
        param = f"{param}.{missing['field']}" if param else missing["field"]
        words = f"The event lacks {param}"
    elif param:
        words = f"{words} in {param}"
    code = "bad_event"
    if param.partition("[")[0] in ("audio", "delta"):
        code = "bad_audio"
    elif param.startswith("video_frames"):
        code = "invalid_video_frames"
    return ProtocolError(code, f"{words}.", param=param or None)


def _check_append(event: InputAudioBufferAppend) -> None:
    frames = event.video_frames or []
    if not event.audio and not frames:
        raise ProtocolError("bad_event", "An append carries sound or camera frames; this one has neither.", param="audio")
    if len(frames) > MAX_VIDEO_FRAMES:
        raise ProtocolError("invalid_video_frames", f"At most {MAX_VIDEO_FRAMES} frames, not {len(frames)}.", param="video_frames")
    for index, frame in enumerate(frames):
        param = f"video_frames[{index}]"
        if len(frame) > MAX_VIDEO_FRAME_BYTES:
            raise ProtocolError(
                "invalid_video_frames", f"A frame has at most {MAX_VIDEO_FRAME_BYTES} bytes, not {len(frame)}.", param=param
            )
        if not frame.startswith(_PICTURE_MAGIC):
            raise ProtocolError("invalid_video_frames", "A frame is a JPEG or a PNG; this is neither.", param=param)
    if event.max_slice_nums not in (None, 1):
        raise ProtocolError("invalid_video_frames", "max_slice_nums is 1 or left out.", param="max_slice_nums")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += [v for v in each.values() if isinstance(v, (dict, list))]
            elif isinstance(each, list):
                inner += [v for v in each if isinstance(v, (dict, list))]
        if not inner:
            return
        level = inner
    raise ProtocolError("bad_event", f"The event is nested deeper than {MAX_DEPTH} levels.")
