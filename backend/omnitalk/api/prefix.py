"""A path prefix in front of the app, whether the proxy strips it or not: from ``--root-path``, or told by a proxy that is trusted."""

import ipaddress
import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["PathPrefix"]

_FORM = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]{1,64}){1,8}")
"""What a prefix may be made of: it goes into redirects and pages."""


class PathPrefix:
    """ASGI middleware, outermost. ASGI wants ``path`` to contain ``root_path``; mounts look for their files wrongly otherwise.

    ``trusted``: addresses and networks whose ``X-Forwarded-Prefix`` counts, when no ``prefix`` is set.
    """

    def __init__(self, app: ASGIApp, prefix: str, trusted: Sequence[str] = ()) -> None:
        self._app = app
        self._prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""
        self._trusted = [ipaddress.ip_network(each, strict=False) for each in trusted]

    def _told(self, scope: Scope) -> str:
        """The prefix that the proxy in front says it stripped."""
        said = Headers(scope=scope).get("x-forwarded-prefix", "").rstrip("/")
        if not said or scope.get("client") is None or not _FORM.fullmatch(said):
            return ""
        try:
            peer = ipaddress.ip_address(scope["client"][0])
        except ValueError:
            return ""  # a Unix socket's peer has no address
        return said if any(peer in network for network in self._trusted) else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Puts the prefix where it belongs."""
        if scope["type"] in ("http", "websocket") and (prefix := self._prefix or self._told(scope)):
            path: str = scope["path"]
            if path != prefix and not path.startswith(prefix + "/"):
                path = prefix + path
            scope = {**scope, "root_path": prefix, "path": path}
        await self._app(scope, receive, send)
