"""Looks at a picture before a model does: in an engine, a picture that cannot be read may end the process, and with it every call."""

import io
import warnings

from .refusal import MediaRefused

__all__ = ["MAX_PIXELS", "inspect", "read_picture"]

MAX_PIXELS = 8_388_608
"""8 megapixels: far above what a model looks at, far below what fills memory."""

_SMALLEST, _LONGEST = 14, 4_096
"""Pixels of a side: one patch of the vision encoder, and what its position table was made for many times over."""

_MAX_RATIO = 8.0
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_NAMES = {"JPEG": "JPEG", "PNG": "PNG", "WEBP": "WebP", "GIF": "GIF"}
_MIME = {"JPEG": "image/jpeg", "PNG": "image/png"}


def inspect(data: bytes, formats: tuple[str, ...] = _FORMATS) -> tuple[str, int, int]:
    """Decodes a picture once: its format as Pillow names it, and its size. Raises ``MediaRefused`` (``bad_image``).

    Takes milliseconds to a second: call it in a thread.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of large pictures; here the size decides, before a pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=formats) as picture:
                _check_size(*picture.size)
                picture.load()
                return picture.format or "", *picture.size
    except MediaRefused:
        raise
    except Exception as problem:
        # Whatever a decoder makes of hostile bytes (OSError, SyntaxError, struct.error, …), the picture is what is wrong.
        names = ", ".join(_NAMES[each] for each in formats[:-1]) + f" or {_NAMES[formats[-1]]}"
        raise MediaRefused("bad_image", f"A picture cannot be read as {names} ({type(problem).__name__}).") from problem


def read_picture(data: bytes) -> tuple[bytes, str, int]:
    """A picture that every engine takes (JPEG or PNG), its type, and its pixels. WebP and GIF become PNG (of several the first).

    Raises ``MediaRefused`` (``bad_image``). Takes milliseconds to a second: call it in a thread.
    """
    from PIL import Image

    kind, width, height = inspect(data)
    if kind not in _MIME:
        out = io.BytesIO()
        with Image.open(io.BytesIO(data), formats=(kind,)) as picture:
            picture.convert("RGB").save(out, "PNG", compress_level=1)
        data, kind = out.getvalue(), "PNG"
    return data, _MIME[kind], width * height


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS or max(width, height) > _LONGEST:
        sentence = f"A picture is {width} x {height}; at most {_LONGEST} a side and {MAX_PIXELS // 2**20} megapixels are taken."
        raise MediaRefused("bad_image", sentence)
    if min(width, height) < _SMALLEST or max(width, height) > _MAX_RATIO * min(width, height):
        sentence = f"A picture is {width} x {height}; at least {_SMALLEST} a side and at most {_MAX_RATIO:g} to 1 are taken."
        raise MediaRefused("bad_image", sentence)
