"""A path prefix in front of the app (``--root-path``), whether the proxy strips it or not."""

from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["PathPrefix"]


class PathPrefix:
    """ASGI middleware, outermost. ASGI wants ``path`` to contain ``root_path``; mounts look for their files wrongly otherwise."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Puts the prefix where it belongs."""
        if self._prefix and scope["type"] in ("http", "websocket"):
            path: str = scope["path"]
            if path != self._prefix and not path.startswith(self._prefix + "/"):
                path = self._prefix + path
            scope = {**scope, "root_path": self._prefix, "path": path}
        await self._app(scope, receive, send)
