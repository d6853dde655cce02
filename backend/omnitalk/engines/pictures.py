"""Looks at a picture before the model does. In the engine a picture that cannot be read ends the Thinker's process, and with it
every call on the server; so nothing goes there that was not decoded here first.
"""

import io
import warnings

from omnitalk.engines.base import EngineError

__all__ = ["MAX_PIXELS", "check_picture"]

MAX_PIXELS = 8_388_608
"""8 megapixels: far above what a camera frame needs (the model looks at tiles of 448 x 448), far below what fills memory."""

_SMALLEST, _LONGEST = 14, 4_096
"""Pixels of a side: one patch of the vision encoder, and what its position table was made for many times over."""

_MAX_RATIO = 8.0
_FORMATS = ("JPEG", "PNG")


def check_picture(data: bytes) -> None:
    """Decodes ``data`` once. Raises ``EngineError`` (``invalid_video_frames``) that says what was wrong. Takes milliseconds: call it in a
    thread.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of large pictures; here the size decides, before a pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
                width, height = picture.size
                _size(width, height)
                picture.load()
    except EngineError:
        raise
    except Exception as problem:
        # Whatever a decoder makes of hostile bytes (OSError, SyntaxError, struct.error, …), the picture is what is wrong.
        raise _refused(f"A picture cannot be read as JPEG or PNG ({type(problem).__name__}).") from problem


def _size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS or max(width, height) > _LONGEST:
        raise _refused(f"A picture is {width} x {height}; at most {_LONGEST} a side and {MAX_PIXELS // 2**20} megapixels are taken.")
    if min(width, height) < _SMALLEST or max(width, height) > _MAX_RATIO * min(width, height):
        raise _refused(f"A picture is {width} x {height}; at least {_SMALLEST} a side and at most {_MAX_RATIO:g} to 1 are taken.")


def _refused(sentence: str) -> EngineError:
    return EngineError("invalid_video_frames", sentence, param="video_frames")
