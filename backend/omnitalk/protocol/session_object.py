"""The session as the wire shows it, built from the settings in force."""

from collections.abc import Mapping
from typing import Any

from .audio_format import ga_type
from .base import JsonObject
from .session import AudioFormat, Playback, Session, SessionSettings
from .turn_detection import show_turn_detection

__all__ = ["session_object"]


def session_object(
    settings: SessionSettings,
    *,
    session_id: str,
    capabilities: Mapping[str, Any] | None = None,
    state: str = "open",
    turn_state: str = "listening",
    epoch: int = 0,
    turn_id: int = 0,
    active_response_id: str | None = None,
    playback: Playback | None = None,
) -> Session:
    """``session.created``'s ``session``: OpenAI's GA form, and vLLM-Omni's flat names beside it."""
    detection = show_turn_detection(settings.turn_detection)
    return Session(
        id=session_id,
        model=settings.model,
        output_modalities=list(settings.output_modalities),
        modalities=["audio", "text"] if settings.speaks else ["text"],
        instructions=settings.instructions,
        audio={
            "input": {
                "format": _format(settings.input_format),
                "transcription": {} if settings.transcribe else None,
                "noise_reduction": None,
                "turn_detection": detection,
            },
            "output": {"format": _format(settings.output_format), "voice": settings.voice, "speed": settings.speed},
        },
        tools=list(settings.tools),
        tool_choice=settings.tool_choice,
        max_output_tokens="inf" if settings.max_output_tokens is None else settings.max_output_tokens,
        state=state,
        turn_state=turn_state,
        epoch=epoch,
        turn_id=turn_id,
        active_response_id=active_response_id,
        voice=settings.voice,
        temperature=settings.temperature,
        max_tokens=settings.max_output_tokens,
        speed=settings.speed,
        idle_timeout_s=settings.idle_timeout_s,
        overlap_policy=settings.overlap_policy,
        playback=playback or Playback(),
        input_audio_format=settings.input_format.encoding,
        output_audio_format=settings.output_format.encoding,
        turn_detection=detection,
        metadata=settings.metadata or None,
        profile=settings.profile,
        capabilities=dict(capabilities or {}),
    )


def _format(audio_format: AudioFormat) -> JsonObject:
    shown: JsonObject = {"type": ga_type(audio_format.encoding)}
    return shown if audio_format.encoding.startswith("g711") else {**shown, "rate": audio_format.rate}
