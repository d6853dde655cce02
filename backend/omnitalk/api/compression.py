"""Compresses the page and its files, and leaves the API alone: its speech does not compress, and trying would hold up live calls."""

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from .prefix import path_inside

__all__ = ["PageCompression"]


class PageCompression:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain, self._compressed = app, GZipMiddleware(app, minimum_size=500)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compresses what is not under ``/v1/``."""
        path = path_inside(scope)
        app = self._plain if path.startswith("/v1/") else self._compressed
        await app(scope, receive, send)
