"""``response.create``'s options: which are honoured, which are refused by name."""

import math
from typing import Any, NamedTuple

from omnitalk.engines.base import EngineError
from omnitalk.engines.conversation import validate_item
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.session import SessionSettings

__all__ = ["DEFAULT_MAX_TOKENS", "MAX_TOKENS", "ReplyOptions", "parse_options"]

DEFAULT_MAX_TOKENS = 200
"""About a minute of speech: a small model that was asked for one or two sentences never needs it."""

MAX_TOKENS = 1_024
"""The most a reply may have, whatever is asked for; its audio is bounded by it."""

_REFUSED = "unsupported_native_response_options"
_IGNORED = frozenset({"prompt", "extra_body", "tool_choice", "object"})
_MAX_INSTRUCTIONS = 16_000


class ReplyOptions(NamedTuple):
    """How one reply differs from the session. ``items`` replaces the conversation as what the model reads."""

    instructions: str | None
    speaks: bool
    in_conversation: bool = True
    metadata: JsonObject | None = None
    items: list[JsonObject] | None = None
    temperature: float | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    speed: float = 1.0


def parse_options(raw: JsonObject, settings: SessionSettings) -> ReplyOptions:
    """Options over the session's settings. Raises ``EngineError`` that names the option."""
    options = session_options(settings)
    changes: dict[str, Any] = {}
    for name, value in raw.items():
        if value is None or name in _IGNORED:
            continue
        match name:
            case "instructions":
                changes["instructions"] = _string(name, value, _MAX_INSTRUCTIONS)
            case "output_modalities" | "modalities":
                changes["speaks"] = _modalities(name, value)
            case "conversation":
                if value not in ("auto", "none"):
                    raise _bad(name, "is 'auto' or 'none'")
                changes["in_conversation"] = value == "auto"
            case "metadata":
                if not isinstance(value, dict):
                    raise _bad(name, "is an object")
                changes["metadata"] = value
            case "input":
                if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                    raise _bad(name, "is a list of items")
                changes["items"] = _texts([validate_item(item) for item in value])
            case "temperature":
                changes["temperature"] = _number(name, value, 0.0, 2.0)
            case "max_output_tokens" | "max_response_output_tokens" | "max_tokens":
                changes["max_tokens"] = MAX_TOKENS if value == "inf" else int(_number(name, value, 1, 1_000_000))
            case "speed":
                changes["speed"] = _number(name, value, 0.25, 4.0)
            case "voice" if value == settings.voice:
                pass
            case "tools" if value == []:
                pass
            case "audio" if isinstance(value, dict):
                _audio(value, settings)
            case _:
                raise EngineError(_REFUSED, f"This engine cannot change {name!r} for one response.", param=f"response.{name}")
    chosen = options._replace(**changes)
    return chosen._replace(max_tokens=min(chosen.max_tokens, MAX_TOKENS))


def session_options(settings: SessionSettings) -> ReplyOptions:
    """A reply as the session says."""
    return ReplyOptions(
        instructions=settings.instructions,
        speaks=settings.speaks,
        temperature=settings.temperature,
        max_tokens=min(settings.max_output_tokens or DEFAULT_MAX_TOKENS, MAX_TOKENS),
        speed=settings.speed,
    )


def _texts(items: list[JsonObject]) -> list[JsonObject]:
    if any(part.get("type") == "input_audio" and not part.get("transcript") for item in items for part in item["content"]):
        raise EngineError(_REFUSED, "Items of response.input must be text; sound goes into the conversation first.", param="response.input")
    return items


def _audio(value: JsonObject, settings: SessionSettings) -> None:
    output = value.get("output") or {}
    allowed = {"voice": settings.voice}
    for name, given in output.items():
        if given is not None and given != allowed.get(name):
            where = f"audio.output.{name}"
            raise EngineError(_REFUSED, f"This engine cannot change {where} for one response.", param=f"response.{where}")


def _string(name: str, value: object, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise _bad(name, f"is a string of at most {most} characters")
    return value


def _number(name: str, value: object, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not least <= value <= most:
        raise _bad(name, f"is a number from {least:g} to {most:g}")
    return float(value)


def _modalities(name: str, value: object) -> bool:
    if not isinstance(value, list) or not value or any(word not in ("text", "audio") for word in value):
        raise _bad(name, "is a list of 'audio' and 'text'")
    return "audio" in value


def _bad(name: str, rule: str) -> EngineError:
    return EngineError("bad_event", f"response.{name} {rule}.", param=f"response.{name}")
