"""Runs the app: the listening socket, uvicorn, and a friendly word on the terminal."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import structlog
import uvicorn
from fastapi import FastAPI

from omnitalk.api.app import create_app
from omnitalk.api.state import state_of_app
from omnitalk.certificates import check_pair, lan_addresses, lan_certificate
from omnitalk.engines.base import Engine
from omnitalk.logs import configure, make_discreet
from omnitalk.settings import ServeSettings
from omnitalk.transports.uvicorn_socket import CallSocketProtocol

__all__ = ["CallServer", "PortInUse", "listen", "make_server", "run"]

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""One above the largest event of the protocol, so that a slightly too large one gets a named error and a huge one close code 1009."""

DATA = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "omnitalk"
"""What the server itself keeps: its LAN certificate."""

_MAX_CONNECTIONS = 1024
_GOODBYE_S = 3.0


class PortInUse(Exception):
    """Somebody listens there already."""


class CallServer(uvicorn.Server):
    """uvicorn's server, which says goodbye to its calls before it closes their sockets."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._calls = state_of_app(app)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends every call with ``session.closed`` and 1001; then as uvicorn does."""
        for hub in self._calls.hubs:
            await hub.close()
        if carriers := self._calls.carriers:
            await asyncio.wait(carriers, timeout=_GOODBYE_S)
        await super().shutdown(sockets)


def make_server(settings: ServeSettings, app: FastAPI) -> CallServer:
    """A server of this app, not started. Give it listening sockets: ``serve(sockets=[…])``. Raises ``CertificateError``."""
    make_discreet()
    certificate, key = settings.ssl_certfile, settings.ssl_keyfile
    if settings.ssl_self_signed:
        certificate, key = lan_certificate(DATA / "tls")
    if certificate is not None and key is not None:
        check_pair(certificate, key)
    config = uvicorn.Config(
        app,
        ws=CallSocketProtocol,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        # Sound does not compress, and a deflate context costs every socket 300 kB.
        ws_per_message_deflate=False,
        log_config=None,
        access_log=settings.log_level == "debug",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=10,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        # The app looks at forwarded headers itself, prefix and all.
        proxy_headers=False,
    )
    return CallServer(config, app)


def run(settings: ServeSettings, engine: Engine) -> None:
    """Serves until interrupted. Raises ``PortInUse``, ``AuthFileError`` or ``CertificateError``."""
    configure(settings.log_level)
    listener = listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    shown = "localhost" if settings.host in ("127.0.0.1", "::1", "0.0.0.0", "::") else settings.host
    try:
        server = make_server(settings, create_app(settings, engine))
    except BaseException:
        listener.close()
        raise
    scheme = "https" if settings.ssl_self_signed or settings.ssl_certfile is not None else "http"
    url = f"{scheme}://{shown}:{port}{settings.root_path}"
    name = engine.capabilities.name
    structlog.get_logger("omnitalk").info("listening", url=url, engine=name)
    print(f"\n  Omnitalk is on  {url}\n  The engine ({name}) is loading; the page says when it is ready.\n", file=sys.stderr)
    if settings.ssl_self_signed:
        others = [each for each in lan_addresses() if ":" not in each and not each.startswith("127.")]
        places = "  ".join(f"https://{each}:{port}{settings.root_path}" for each in others) if settings.host == "0.0.0.0" else ""
        hint = f"From a phone: {places}" if places else "From a phone: start with --host 0.0.0.0"
        print(f"  {hint}\n  The browser warns once: the certificate is signed by this server itself.\n", file=sys.stderr)
    with listener:
        server.run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A bound socket (port 0: any free one). Raises ``PortInUse``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise PortInUse(
            f"Cannot listen on {host}:{port} ({problem.strerror}). Stop the other program or choose another port with --port."
        ) from None
    return listener
