"""JSON bodies to structs, with errors that name the field as clients write it."""

import re
from typing import TypeVar

import msgspec

from omnitalk.protocol.errors import ProtocolError

__all__ = ["convert", "decode_object"]

T = TypeVar("T")

_PATH = re.compile(r" - at `(?:key in )?\$\.?(.*?)`$", re.S)


def decode_object(data: bytes) -> dict[str, object]:
    """A JSON object. Raises ``ProtocolError`` (``invalid_json``)."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
        raise ProtocolError("invalid_json", f"The body is no JSON: {problem}") from None
    if not isinstance(raw, dict):
        raise ProtocolError("invalid_json", "The body is a JSON object.")
    return raw


def convert(raw: dict[str, object], to: type[T]) -> T:
    """The struct. Raises ``ProtocolError`` (``missing_field`` or ``invalid_value``) with the path of what is wrong."""
    try:
        return msgspec.convert(raw, to)
    except msgspec.ValidationError as problem:
        text = str(problem)
        where = _PATH.search(text)
        param = where.group(1) if where else ""
        sentence = text[: where.start()] if where else text
        missing = re.fullmatch(r"Object missing required field `(\w+)`", sentence)
        if missing:
            param = f"{param}.{missing.group(1)}".lstrip(".")
            raise ProtocolError("missing_field", f"{param} is missing.", param=param) from None
        raise ProtocolError("invalid_value", f"{param or 'The body'}: {sentence}.", param=param or None) from None
    except RecursionError:
        raise ProtocolError("invalid_json", "The body is nested too deep.") from None
