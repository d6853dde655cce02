"""The lease: who may speak for a call, and how long a call outlives its socket or its client's silence."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Literal

from omnitalk.protocol.errors import ProtocolError

from .clock import Clock

__all__ = ["Lease", "new_token"]


def new_token() -> str:
    """A resume token: 32 random bytes in URL-safe base64."""
    return secrets.token_urlsafe(32)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Lease:
    """A call's credential and its two deadlines.

    Only the digest of the token is kept, and it is compared in constant time. Every attachment gets a new token. The one before
    stays good until the client was heard on the new attachment: otherwise a socket that dies before ``session.resumed`` arrives
    would lock its own client out.
    """

    def __init__(self, clock: Clock, token: Callable[[], str], *, grace_s: float, idle_s: float) -> None:
        self._clock, self._token = clock, token
        self.grace_s, self.idle_s = grace_s, idle_s
        self._digest: bytes | None = None
        self._previous: bytes | None = None
        self._attached = False
        self._confirmed = True
        self._active_at = clock.now()
        self._detached_at = clock.now()
        self.generation = 0

    @property
    def attached(self) -> bool:
        """Whether a socket holds the call now."""
        return self._attached

    def attach(self) -> str:
        """A new holder. Returns its token."""
        token = self._token()
        self._previous, self._digest = self._digest, _digest(token)
        self._confirmed = self._previous is None
        self._attached = True
        self.generation += 1
        self._active_at = self._clock.now()
        return token

    def check(self, token: str) -> None:
        """Raises ``ProtocolError(invalid_resume_token)`` unless this is the newest token."""
        given = _digest(token)
        newest = hmac.compare_digest(given, self._digest or b"")
        unheard = not self._attached and not self._confirmed
        before = hmac.compare_digest(given, self._previous or b"") and unheard
        if not newest and not before:
            raise ProtocolError(
                "invalid_resume_token", "This resume token is not the call's newest one.", param="resume_token"
            )  # fmt: skip

    def detach(self) -> None:
        """The holder's socket is gone; the grace begins."""
        self._attached = False
        self._detached_at = self._clock.now()

    def heard(self) -> None:
        """The client spoke: it has its token, and it lives."""
        self._confirmed = True
        self._previous = None
        self._active_at = self._clock.now()

    def touch(self) -> None:
        """The model spoke: the call is in use."""
        self._active_at = self._clock.now()

    def deadline(self) -> float:
        """When the call ends by itself if nothing happens."""
        idle = self._active_at + self.idle_s
        return idle if self._attached else min(idle, self._detached_at + self.grace_s)

    def expired(self) -> Literal["disconnect_grace_expired", "idle_ttl_expired"] | None:
        """Why the call ends now, or None."""
        now = self._clock.now()
        if not self._attached and now >= self._detached_at + self.grace_s:
            return "disconnect_grace_expired"
        return "idle_ttl_expired" if now >= self._active_at + self.idle_s else None
