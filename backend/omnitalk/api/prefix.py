"""A path prefix in front of the app, whether the proxy strips it or not: from ``--root-path``, or told by a proxy that is trusted."""

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .forwarded import TrustedPeers

__all__ = ["PathPrefix", "path_inside"]

_FORM = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]{1,64}){1,8}")
"""What a prefix may be made of: it goes into redirects and pages."""


def path_inside(scope: Scope) -> str:
    """The path as routes know it, without the prefix. Ask before a route was found: routing writes into the scope."""
    return str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))


class PathPrefix:
    """ASGI middleware, outermost. ASGI wants ``path`` to contain ``root_path``; mounts look for their files wrongly otherwise.

    ``trusted``: whose ``X-Forwarded-Prefix`` counts, when no ``prefix`` is set.
    """

    def __init__(self, app: ASGIApp, prefix: str, trusted: TrustedPeers) -> None:
        self._app = app
        self._prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""
        self._trusted = trusted

    def _told(self, scope: Scope) -> str:
        """The prefix that the proxy in front says it stripped."""
        said = Headers(scope=scope).get("x-forwarded-prefix", "").rstrip("/")
        return said if _FORM.fullmatch(said) and self._trusted.sent(scope) else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Puts the prefix where it belongs."""
        if scope["type"] in ("http", "websocket") and (prefix := self._prefix or self._told(scope)):
            path: str = scope["path"]
            if path != prefix and not path.startswith(prefix + "/"):
                path = prefix + path
            scope = {**scope, "root_path": prefix, "path": path}
        await self._app(scope, receive, send)
