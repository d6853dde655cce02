"""Security headers on every response."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnitalk.hosts import HOST

from .prefix import path_inside

__all__ = ["SecurityHeaders"]

_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "worker-src 'self' blob:; connect-src {connect}; base-uri 'self'; form-action 'self'; object-src 'none'; frame-ancestors 'self'"
)

_DEMO_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
    "img-src 'self' data: blob:; media-src 'self' data: blob:; worker-src 'self' blob:; connect-src {connect} data: blob:; "
    "base-uri 'self'; form-action 'self'; object-src 'none'; frame-ancestors 'self'"
)
"""Gradio brings scripts and styles within its page and makes functions of strings; nothing from elsewhere all the same."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(self), display-capture=(self), autoplay=(self)",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SecurityHeaders:
    """ASGI middleware. ``public_url``: where the page's socket goes when it does not go here."""

    def __init__(self, app: ASGIApp, *, public_url: str | None = None) -> None:
        self._app = app
        public = urlsplit(public_url or "")
        self._elsewhere = f" {public.scheme}://{public.netloc}" if public.netloc else ""

    def _policy(self, scope: Scope) -> str:
        host = Headers(scope=scope).get("host", "")
        # Not every browser takes 'self' to mean the sockets of the page's own host.
        sockets = f" ws://{host} wss://{host}" if HOST.fullmatch(host) else ""
        path = path_inside(scope)
        policy = _DEMO_POLICY if path == "/gradio" or path.startswith("/gradio/") else _POLICY
        return policy.format(connect=f"'self'{sockets}{self._elsewhere}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the headers to HTTP responses."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        policy = self._policy(scope)  # now: routing writes into the scope

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", policy)
            await send(message)

        await self._app(scope, receive, send_with_headers)
