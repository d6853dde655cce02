"""``turn_detection``: what a client may write there, and how we show it."""

from typing import Any, Final, Literal, cast

from .base import JsonObject
from .errors import ProtocolError
from .session import TurnDetection

__all__ = ["parse_turn_detection", "show_turn_detection"]

_CODE: Final = "unsupported_turn_detection"
_SHARED: Final = ("type", "create_response", "interrupt_response", "idle_timeout_ms")
_MILLISECONDS: Final = {
    "prefix_padding_ms": (0, 10_000),
    "silence_duration_ms": (0, 60_000),
    "min_speech_duration_ms": (0, 10_000),
    "idle_timeout_ms": (1_000, 3_600_000),
}
_VAD: Final = (*_SHARED, "threshold", "prefix_padding_ms", "silence_duration_ms", "min_speech_duration_ms")
_FIELDS: Final = {"server_vad": _VAD, "semantic_vad": (*_VAD, "eagerness")}
_EAGERNESS: Final = ("low", "medium", "high", "auto")


def parse_turn_detection(value: object, *, param: str) -> TurnDetection:
    """The detector that a client asks for. Raises ``ProtocolError(unsupported_turn_detection)``.

    A field we do not know is refused by name: a misspelt knob that does nothing would look as if it worked.
    """
    if not isinstance(value, dict):
        raise ProtocolError(_CODE, "turn_detection is null or an object with a `type`.", param=param)
    kind = value.get("type", "server_vad")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise ProtocolError(_CODE, f"turn_detection.type is {' or '.join(_FIELDS)}.", param=f"{param}.type")
    for name in value:
        if name not in _FIELDS[kind]:
            raise ProtocolError(_CODE, f"{kind} has no field {str(name)[:80]!r}.", param=f"{param}.{str(name)[:80]}")
    fields: dict[str, Any] = {}
    for name, given in value.items():
        if name == "type" or given is None:
            continue
        where = f"{param}.{name}"
        if name == "threshold":
            fields[name] = _within(given, 0.0, 1.0, where)
        elif name in _MILLISECONDS:
            fields[name] = round(_within(given, *_MILLISECONDS[name], where))
        elif name == "eagerness":
            if given not in _EAGERNESS:
                raise ProtocolError(_CODE, f"eagerness is one of {', '.join(_EAGERNESS)}.", param=where)
            fields[name] = given
        elif not isinstance(given, bool):
            raise ProtocolError(_CODE, f"{name} is true or false.", param=where)
        else:
            fields[name] = given
    return TurnDetection(type=cast(Literal["server_vad", "semantic_vad"], kind), **fields)


def show_turn_detection(detection: TurnDetection | None) -> JsonObject | None:
    """The detector as a session object shows it."""
    if detection is None:
        return None
    shown: JsonObject = {
        "type": detection.type,
        "create_response": detection.create_response,
        "interrupt_response": detection.interrupt_response,
    }
    if detection.type == "semantic_vad":
        return {**shown, "eagerness": detection.eagerness}
    return {
        **shown,
        "threshold": detection.threshold,
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_duration_ms,
        "min_speech_duration_ms": detection.min_speech_duration_ms,
        "idle_timeout_ms": detection.idle_timeout_ms,
    }


def _within(value: object, least: float, most: float, param: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ProtocolError(_CODE, f"{param.rpartition('.')[2]} is a number from {least:g} to {most:g}.", param=param)
    return float(value)
