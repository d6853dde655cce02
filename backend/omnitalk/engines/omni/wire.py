"""The settings of a call as vLLM-Omni's session object."""

from omnitalk.deploy import window_marks
from omnitalk.engines.base import EngineError
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.session import SessionSettings

__all__ = ["check_numbers", "native_session", "turn_session", "window"]


def window(limit: int) -> JsonObject:
    """The sliding window that fits a context of ``limit`` tokens. vLLM-Omni leaves it off, and a call then forgets everything at once
    when the context is full (8.5 minutes with a camera)."""
    marks = window_marks(limit, None)
    if marks is None:
        return {"sliding_window_mode": "off"}
    return {"sliding_window_mode": "basic", "basic_window_high_tokens": marks[0], "basic_window_low_tokens": marks[1]}


_MAX_UNIT_TOKENS = 20
"""More text than this cannot be spoken within a unit; the engine's own default."""


def native_session(settings: SessionSettings, voice: str, *, limit: int) -> JsonObject:
    """A continuous MiniCPM-o session. ``voice``: the reference voice as a data URL; ``limit``: tokens of the context.

    Raises ``EngineError`` for what it cannot have.
    """
    if settings.tools:
        raise EngineError("unsupported", "This model calls no tools.", param="session.tools")
    if settings.turn_detection is not None and settings.turn_detection.type == "semantic_vad":
        message = "This model takes turns by itself: turn_detection is null, or server_vad to let your voice interrupt it."
        raise EngineError("unsupported_turn_detection", message, param="session.turn_detection")
    _fits(settings, limit)
    check_numbers(settings)
    asked = settings.max_output_tokens
    return _without_none(
        {
            "modalities": ["audio", "text"] if settings.speaks else ["text"],
            "instructions": settings.instructions,
            "initial_user_text": settings.initial_user_text,
            "ref_audio": voice if settings.speaks else None,
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm16",
            "temperature": settings.temperature,
            "max_response_output_tokens": None if asked is None else min(asked, _MAX_UNIT_TOKENS),
            "speed": settings.speed if settings.speed != 1.0 else None,
            # The call has its own voice-activity gate; the engine's would interrupt by itself, and hard.
            "turn_detection": None,
            "overlap_policy": "listen_only",
            "playback_commit_policy": "ack_only",
            # The call's own lease decides; the engine's must outlive it.
            "idle_timeout_s": 3600,
            "extra_body": {**window(limit), "force_listen_count": 0, **settings.extra, "auto_response": True},
        }
    )


def _fits(settings: SessionSettings, limit: int) -> None:
    """A prefix beyond the context ends the engine's Thinker process, for every call on it. A token is at least a byte of text."""
    for name in ("instructions", "initial_user_text"):
        size = len((getattr(settings, name) or "").encode())
        most = limit // 4
        if size > most:
            message = f"{name} is {size} bytes long; at most {most} leave room for a conversation in this model's context."
            raise EngineError("bad_event", message, param=f"session.{name}")


def check_numbers(settings: SessionSettings) -> None:
    """Raises ``EngineError`` that names a number outside of what the model is made for."""
    bounds = (("temperature", settings.temperature, 0.0, 2.0), ("speed", settings.speed, 0.25, 4.0))
    for name, value, least, most in bounds:
        if value is not None and not least <= value <= most:
            raise EngineError("bad_event", f"{name} is a number from {least:g} to {most:g}, not {value!r}.", param=f"session.{name}")
    if settings.max_output_tokens is not None and settings.max_output_tokens < 1:
        raise EngineError("bad_event", "max_output_tokens is at least 1.", param="session.max_output_tokens")


def turn_session(settings: SessionSettings) -> JsonObject:
    """A Qwen3-Omni session: turns that the call's own gate or the client ends. Raises ``EngineError`` for what it cannot have."""
    if settings.ref_audio is not None:
        raise EngineError(
            "ref_audio_update_unsupported", "This model has voices of its own and takes no reference.", param="session.ref_audio"
        )
    check_numbers(settings)
    return _without_none(
        {
            "modalities": ["audio", "text"] if settings.speaks else ["text"],
            "instructions": settings.instructions,
            "voice": settings.voice,
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm16",
            "temperature": settings.temperature,
            "max_response_output_tokens": settings.max_output_tokens,
            "speed": settings.speed if settings.speed != 1.0 else None,
            "turn_detection": None,
            "playback_commit_policy": "ack_only",
            "idle_timeout_s": 3600,
            "tools": list(settings.tools) or None,
            "extra_body": {name: value for name, value in settings.extra.items() if name != "auto_response"},
        }
    )


def _without_none(session: JsonObject) -> JsonObject:
    return {name: value for name, value in session.items() if value is not None or name == "turn_detection"}
