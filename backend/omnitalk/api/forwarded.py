"""What a reverse proxy says about the request it passes on, from proxies that are trusted: the host that the page knows us by."""

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from omnitalk.hosts import HOST

__all__ = ["ForwardedHost", "TrustedPeers"]


class TrustedPeers:
    """``addresses``: of single machines, or networks as CIDR."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._networks = [ipaddress.ip_network(each, strict=False) for each in addresses]

    def sent(self, scope: Scope) -> bool:
        """Whether the connection itself comes from one of them."""
        if scope.get("client") is None:
            return False
        try:
            peer = ipaddress.ip_address(scope["client"][0])
        except ValueError:
            return False  # a Unix socket's peer has no address
        return any(peer in network for network in self._networks)


class ForwardedHost:
    """ASGI middleware, outside of whatever changes ``client``. A proxy that sends its own name as Host says the page's in
    ``X-Forwarded-Host``: pages are told from foreign ones by it. No page can make a browser send this header along.
    """

    def __init__(self, app: ASGIApp, trusted: TrustedPeers) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Puts it where the host belongs; several proxies each add theirs at the end, and the page saw the first."""
        if scope["type"] in ("http", "websocket"):
            said = Headers(scope=scope).get("x-forwarded-host", "").split(",")[0].strip()
            if HOST.fullmatch(said) and self._trusted.sent(scope):
                others = [(name, value) for name, value in scope["headers"] if name != b"host"]
                scope = {**scope, "headers": [(b"host", said.encode("ascii")), *others]}
        await self._app(scope, receive, send)
