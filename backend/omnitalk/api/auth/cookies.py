"""The cookie that a person's browser shows: made for a key (renewed while it is used) or for a link (ends with the link)."""

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from .tokens import Kind, sign, verify

__all__ = ["COOKIE", "COOKIE_S", "read_cookie", "renewable", "set_cookie", "socket_pass"]

COOKIE = "omnitalk_pass"
COOKIE_S = 12 * 3600.0


def read_cookie(secret: bytes, connection: HTTPConnection, now: float) -> str | None:
    """The name that it is good for, until now."""
    value = connection.cookies.get(COOKIE, "")
    found = verify(secret, "cookie", value, now) or verify(secret, "guest", value, now)
    return found[0] if found is not None else None


def socket_pass(secret: bytes, connection: HTTPConnection, now: float) -> str | None:
    """What lets this person's page in where its cookie does not go, for as long as the cookie does."""
    value = connection.cookies.get(COOKIE, "")
    found = verify(secret, "cookie", value, now) or verify(secret, "guest", value, now)
    return sign(secret, "socket", *found) if found is not None else None


def renewable(secret: bytes, connection: HTTPConnection, now: float) -> bool:
    """Whether a new one is due: it was made for a key and is past its middle."""
    found = verify(secret, "cookie", connection.cookies.get(COOKIE, ""), now)
    return found is not None and found[1] - now <= COOKIE_S / 2


def set_cookie(answer: Response, secret: bytes, scope: Scope, name: str, now: float, *, guest_until: float | None = None) -> None:
    """``guest_until``: when the link ends that brought a guest."""
    kind: Kind = "cookie" if guest_until is None else "guest"
    expires = min(now + COOKIE_S, now + COOKIE_S if guest_until is None else guest_until)
    # Beside other programs of one host, they need not see it. A prefix that a proxy takes off without a word cannot be named.
    path = str(scope.get("root_path", "")) + "/"
    secure = scope["scheme"] in ("https", "wss")
    token = sign(secret, kind, name, expires)
    answer.set_cookie(COOKIE, token, max_age=max(1, int(expires - now)), path=path, httponly=True, samesite="lax", secure=secure)
