"""A camera's picture, looked at before the model does. In the engine a picture that cannot be read ends the Thinker's process, and with it
every call on the server; so nothing goes there that was not decoded here first.
"""

from omnitalk.media.pictures import inspect
from omnitalk.media.refusal import MediaRefused

from .base import EngineError

__all__ = ["check_picture"]


def check_picture(data: bytes) -> None:
    """Raises ``EngineError`` (``invalid_video_frames``) that says what was wrong. Takes milliseconds: call it in a thread."""
    try:
        inspect(data, ("JPEG", "PNG"))
    except MediaRefused as refused:
        raise EngineError("invalid_video_frames", refused.message, param="video_frames") from refused
