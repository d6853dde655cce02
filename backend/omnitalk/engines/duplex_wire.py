"""What a session of a duplex model says about itself, in vLLM-Omni's words (``session.created``, ``capabilities``)."""

from omnitalk.protocol.base import JsonObject

__all__ = ["duplex_wire"]


def duplex_wire(*, native: bool, sees: bool) -> JsonObject:
    """``native``: the model takes turns by itself. ``sees``: a model of turns takes pictures as items."""
    return {
        "supports_model_native_turn_policy": native,
        "supports_client_commit": True,
        "supports_barge_in": True,
        "supports_playback_ack": True,
        "supports_input_append": True,
        "supports_session_lease": True,
        "supports_session_resume": True,
        "supports_realtime_endpoint": True,
        "supports_multi_session": True,
        "supports_audio_truncate": True,
        "supports_image_input": sees and not native,
        "supports_text_only_turn": not native,
        "required_input_modalities": ["audio"] if native else [],
        "optional_input_modalities": ["video"] if native else ["audio", "text", *(["image"] if sees else [])],
        "implementation_level": "model_native_duplex" if native else "turn_based_duplex",
        "session_admission_mode": "engine_managed",
        "chunk_period_ms": 1000 if native else None,
        "target_barge_in_latency_ms": None,
    }
