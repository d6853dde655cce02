"""From what a client asks for to the settings in force, and later changes of them.

OpenAI's nested form (``audio.input.format`` …) and vLLM-Omni's flat form (``input_audio_format``, ``sample_rate_hz`` …) are both
read. Where a client sends both and they differ, the flat one wins for formats and rates, and the nested one for
``turn_detection``: vLLM-Omni's precedence.
"""

from typing import Any, Final

import msgspec

from .audio_format import check_rate, parse_format, settle
from .base import UNSET, JsonObject, UnsetType
from .errors import ProtocolError
from .session import AudioFormat, SessionPatch, SessionSettings, TurnDetection
from .turn_detection import parse_turn_detection

__all__ = ["DUPLEX_DEFAULTS", "OPENAI_DEFAULTS", "apply", "resolve"]

OPENAI_DEFAULTS: Final = SessionSettings(
    input_format=AudioFormat(rate=24_000), turn_detection=TurnDetection(), overlap_policy="barge_in_on_speech"
)
"""A socket opened as OpenAI's clients do, without the ``duplex`` query: 24 kHz and server VAD."""

DUPLEX_DEFAULTS: Final = SessionSettings()
"""A socket opened with ``duplex=1``: 16 kHz, and the model or the client ends turns."""

_MAX_TEXT: Final = 200_000
"""Characters of instructions: more than any context of ours holds."""

_MAX_REF_AUDIO: Final = 14_000_000
"""Characters of a data: URL; it has to fit into one event."""

_OVERLAP_POLICIES: Final = ("listen_only", "barge_in_on_speech")


def resolve(patch: SessionPatch, defaults: SessionSettings) -> SessionSettings:
    """The settings a session opens with. Raises ``ProtocolError`` naming the field (``session.…``)."""
    changes: dict[str, Any] = {}
    _words(patch, changes)
    _sound(patch, defaults, changes)
    _numbers(patch, changes)
    _turns(patch, defaults, changes)
    _extras(patch, defaults, changes)
    return msgspec.structs.replace(defaults, **changes)


def apply(settings: SessionSettings, patch: SessionPatch) -> SessionSettings:
    """The settings after a later ``session.update``. Raises ``ProtocolError``; the old settings then stay in force.

    The model and the reference voice are what a session was built on: another value is refused, the same one is not.
    """
    new = resolve(patch, settings)
    if settings.model and new.model != settings.model:
        raise ProtocolError(
            "model_update_unsupported", f"This session runs {settings.model!r}; open another for {new.model[:80]!r}.", param="session.model"
        )
    if new.ref_audio != settings.ref_audio:
        raise ProtocolError(
            "ref_audio_update_unsupported", "The reference voice of a session cannot change: open another.", param="session.ref_audio"
        )
    return new


def _words(patch: SessionPatch, changes: dict[str, Any]) -> None:
    for name in ("model", "profile"):
        value = getattr(patch, name)
        if value is not UNSET:
            changes[name] = _text(value, f"session.{name}", 512)
    for name, most in (("instructions", _MAX_TEXT), ("initial_user_text", _MAX_TEXT), ("ref_audio", _MAX_REF_AUDIO)):
        value = getattr(patch, name)
        if value is not UNSET:
            changes[name] = None if value is None else _text(value, f"session.{name}", most)
    for name in ("modalities", "output_modalities"):
        value = getattr(patch, name)
        if value is not UNSET:
            changes["output_modalities"] = _modalities(value, f"session.{name}")
    output, where = _section(patch, "output")
    voice, param = patch.voice, "session.voice"
    if voice is UNSET and "voice" in output:
        voice, param = output["voice"], f"{where}.voice"
    if voice is not UNSET:
        changes["voice"] = _voice(voice, param)


def _sound(patch: SessionPatch, defaults: SessionSettings, changes: dict[str, Any]) -> None:
    given, where = _section(patch, "input")
    flat = patch.input_audio_format if patch.input_audio_format is not UNSET else None
    encoding, rate, param = _format(flat, "session.input_audio_format", given, where)
    if patch.sample_rate_hz is not UNSET:
        rate, param = check_rate(patch.sample_rate_hz, param="session.sample_rate_hz"), "session.sample_rate_hz"
    old = defaults.input_format
    changes["input_format"] = settle(encoding or old.encoding, rate or _rate_of(old, encoding, 24_000), asked_rate=rate, param=param)
    given, where = _section(patch, "output")
    flat = patch.output_audio_format if patch.output_audio_format is not UNSET else None
    name = "session.output_audio_format"
    if flat is None and patch.response_format is not UNSET:
        flat, name = patch.response_format, "session.response_format"
    encoding, rate, param = _format(flat, name, given, where)
    old = defaults.output_format
    changes["output_format"] = settle(encoding or old.encoding, rate or _rate_of(old, encoding, 24_000), asked_rate=rate, param=param)


def _rate_of(old: AudioFormat, encoding: str | None, usual: int) -> int:
    """The rate to keep; one that G.711 had forced is not kept when the encoding leaves it."""
    left_g711 = old.encoding.startswith("g711") and encoding is not None and not encoding.startswith("g711")
    return usual if left_g711 else old.rate


def _format(flat: object, flat_param: str, section: JsonObject, where: str) -> tuple[str | None, int | None, str]:
    """Encoding, rate and the name of the field to blame, of one direction."""
    value, param = (flat, flat_param) if flat is not None else (section.get("format"), f"{where}.format")
    encoding, rate = parse_format(value, param=param)
    if rate is None:
        for key in ("sample_rate_hz", "sample_rate"):
            if section.get(key) is not None:
                return encoding, check_rate(section[key], param=f"{where}.{key}"), f"{where}.{key}"
    return encoding, rate, f"{param}.rate" if isinstance(value, dict) else param


def _numbers(patch: SessionPatch, changes: dict[str, Any]) -> None:
    if patch.temperature is not UNSET:
        changes["temperature"] = None if patch.temperature is None else _number(patch.temperature, "session.temperature", 0.0, 2.0)
    for name in ("max_tokens", "max_output_tokens", "max_response_output_tokens"):
        value = getattr(patch, name)
        if value is not UNSET:
            changes["max_output_tokens"] = None if value in (None, "inf") else int(_number(value, f"session.{name}", 1, 1_000_000))
    output, where = _section(patch, "output")
    speed, param = patch.speed, "session.speed"
    if speed is UNSET and "speed" in output:
        speed, param = output["speed"], f"{where}.speed"
    if speed is not UNSET:
        changes["speed"] = 1.0 if speed is None else _number(speed, param, 0.25, 4.0)
    if patch.idle_timeout_s is not UNSET:
        default = SessionSettings().idle_timeout_s
        changes["idle_timeout_s"] = (
            default if patch.idle_timeout_s is None else _number(patch.idle_timeout_s, "session.idle_timeout_s", 1.0, 86_400.0)
        )


def _turns(patch: SessionPatch, defaults: SessionSettings, changes: dict[str, Any]) -> None:
    section, where = _section(patch, "input")
    value: object = UNSET
    param = "session.turn_detection"
    if "turn_detection" in section:
        value, param = section["turn_detection"], f"{where}.turn_detection"
    elif patch.turn_detection is not UNSET:
        value = patch.turn_detection
    detection = defaults.turn_detection
    if value is not UNSET:
        detection = changes["turn_detection"] = None if value is None else parse_turn_detection(value, param=param)
    policy = "listen_only" if detection is None else "barge_in_on_speech"
    asked = patch.overlap_policy
    if asked not in (UNSET, None, policy):
        if asked not in _OVERLAP_POLICIES:
            raise ProtocolError(
                "bad_event", f"overlap_policy is {' or '.join(_OVERLAP_POLICIES)}, not {str(asked)[:40]!r}.", param="session.overlap_policy"
            )
        raise ProtocolError(
            "unsupported_turn_detection",
            f"overlap_policy {asked!r} contradicts turn_detection: null goes with listen_only, a detector with barge_in_on_speech.",
            param="session.overlap_policy",
        )
    changes["overlap_policy"] = policy
    for asked_for in (patch.input_audio_transcription, section.get("transcription", UNSET)):
        if asked_for is not UNSET:
            changes["transcribe"] = asked_for is not None


def _extras(patch: SessionPatch, defaults: SessionSettings, changes: dict[str, Any]) -> None:
    if patch.tools is not UNSET:
        changes["tools"] = tuple(patch.tools)
    if patch.tool_choice is not UNSET:
        changes["tool_choice"] = patch.tool_choice
    if patch.metadata is not UNSET:
        changes["metadata"] = dict(patch.metadata or {})
    if patch.extra_body is UNSET:
        return
    extra = dict(patch.extra_body or {})
    changes["extra"] = {**defaults.extra, **extra}
    if "auto_response" in extra:
        if not isinstance(extra["auto_response"], bool):
            raise ProtocolError("bad_event", "auto_response is true or false.", param="session.extra_body.auto_response")
        changes["auto_response"] = extra["auto_response"]
    for key, name in (("duplex_initial_user_text", "initial_user_text"), ("ref_audio", "ref_audio"), ("tts_ref_audio", "ref_audio")):
        if extra.get(key) is not None and changes.get(name) is None:
            changes[name] = _text(extra[key], f"session.extra_body.{key}", _MAX_REF_AUDIO)


def _section(patch: SessionPatch, direction: str) -> tuple[JsonObject, str]:
    """``audio.input`` or ``audio.output`` of the patch, and its path."""
    where = f"session.audio.{direction}"
    if isinstance(patch.audio, UnsetType) or patch.audio is None:
        return {}, where
    section = patch.audio.get(direction)
    if section is None:
        return {}, where
    if not isinstance(section, dict):
        raise ProtocolError("bad_event", f"audio.{direction} is an object.", param=where)
    return section, where


def _text(value: object, param: str, most: int) -> str:
    if not isinstance(value, str):
        raise ProtocolError("bad_event", f"{param} is a string.", param=param)
    if len(value) > most:
        raise ProtocolError("bad_event", f"{param} has at most {most} characters, not {len(value)}.", param=param)
    return value


def _number(value: object, param: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ProtocolError("bad_event", f"{param} is a number from {least:g} to {most:g}.", param=param)
    return float(value)


def _modalities(value: list[str], param: str) -> tuple[str, ...]:
    if not value or any(word not in ("text", "audio") for word in value):
        raise ProtocolError("bad_event", f"{param} is a list of text, audio or both.", param=param)
    return ("audio",) if "audio" in value else ("text",)


def _voice(value: object, param: str) -> str | None:
    if isinstance(value, dict):
        value, param = value.get("id"), f"{param}.id"
        if value is None:
            raise ProtocolError("bad_event", "A voice object has an `id`.", param=param)
    return None if value is None else _text(value, param, 512)
