"""Data URLs and base64: bytes that travel inside a request."""

import base64
import binascii

from .refusal import MediaRefused

__all__ = ["from_base64", "from_data_url"]


def from_base64(text: str, most: int) -> bytes:
    """The bytes of standard base64. Raises ``MediaRefused``: ``bad_url``, or ``media_too_large`` above ``most`` bytes."""
    if len(text) // 4 * 3 > most + 2:
        raise MediaRefused("media_too_large", f"A file may have at most {most} bytes.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MediaRefused("bad_url", "This is no base64: it has letters of another alphabet, line breaks, or a wrong length.") from None
    if not data:
        raise MediaRefused("bad_url", "There is no data in it.")
    return data


def from_data_url(url: str, most: int) -> bytes:
    """The bytes of ``data:…;base64,…``. The type it names is not believed: whoever decodes the bytes looks at them. Raises as above."""
    head, comma, body = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise MediaRefused("bad_url", "A data URL is written data:TYPE;base64,DATA.")
    return from_base64(body, most)
