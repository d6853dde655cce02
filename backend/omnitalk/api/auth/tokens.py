"""Signed words: who somebody is and until when, in a form that can be checked and not made. HMAC-SHA256 over the whole of it."""

import base64
import hashlib
import hmac
from typing import Literal

__all__ = ["Kind", "sign", "verify"]

Kind = Literal["cookie", "guest", "link", "socket"]
"""A link is exchanged for a guest's cookie, a key for a cookie that is renewed while it is used; a page whose socket goes to another
host, where no cookie goes, shows a ``socket`` token there. None passes for another.
"""

_LONGEST = 512


def _signature(secret: bytes, body: str) -> str:
    return base64.urlsafe_b64encode(hmac.digest(secret, body.encode(), hashlib.sha256)).decode().rstrip("=")


def sign(secret: bytes, kind: Kind, name: str, expires: float) -> str:
    """``name`` may come in until ``expires`` (epoch seconds)."""
    body = f"1.{kind}.{base64.urlsafe_b64encode(name.encode()).decode().rstrip('=')}.{int(expires)}"
    return f"{body}.{_signature(secret, body)}"


def verify(secret: bytes, kind: Kind, token: str, now: float) -> tuple[str, float] | None:
    """Name and expiry of a token that is ours, of this kind and not expired; else None."""
    body, _, signature = token.rpartition(".")
    if len(token) > _LONGEST or not token.isascii() or not hmac.compare_digest(_signature(secret, body), signature):
        return None
    # Signed by us, so it has our form.
    _, told, name, expires = body.split(".")
    if told != kind or int(expires) <= now:
        return None
    return base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode(), float(expires)
