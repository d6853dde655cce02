"""Qwen3-Omni's vocabulary: turns of the server's detector or of the client, pictures as items, nothing continuous."""

from omnitalk.engines.base import EngineError
from omnitalk.protocol.session import SessionSettings

from .turn_session import TurnSession

__all__ = ["Qwen3Session", "check_qwen3"]


def check_qwen3(settings: SessionSettings) -> None:
    """Raises ``EngineError`` for what this vocabulary does not have."""
    if settings.ref_audio is not None:
        raise EngineError("unsupported", "This model takes no reference voice.", param="session.ref_audio")
    if settings.auto_response:
        message = "This model answers turn by turn; auto_response is for models that run continuously."
        raise EngineError("invalid_session_config", message, param="session.extra_body.auto_response")
    if settings.tools:
        raise EngineError("unsupported", "This model calls no tools in a spoken call.", param="session.tools")
    detection = settings.turn_detection
    if detection is not None and (detection.type != "server_vad" or not detection.interrupt_response):
        message = "This model knows server_vad with interrupt_response true, or null."
        raise EngineError("unsupported_turn_detection", message, param="session.turn_detection")


class Qwen3Session(TurnSession):
    """Takes pictures as items."""

    sees = True
