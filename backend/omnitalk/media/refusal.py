"""Why a file is not taken."""

__all__ = ["MediaRefused"]


class MediaRefused(Exception):
    """``code``: ``bad_audio``, ``audio_too_long``, ``bad_image``,
    ``bad_video``, ``bad_url``, ``media_too_large``, ``media_not_allowed``, ``media_unreachable``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message
