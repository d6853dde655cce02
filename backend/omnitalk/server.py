"""Runs the app: the listening socket, uvicorn, and a friendly word on the terminal."""

import socket
import sys

import structlog
import uvicorn

from omnitalk.api.app import create_app
from omnitalk.engines.base import Engine
from omnitalk.logs import configure
from omnitalk.settings import ServeSettings

__all__ = ["PortInUse", "run"]

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""One above the largest event of the protocol, so that a slightly too large one gets a named error and a huge one close code 1009."""


class PortInUse(Exception):
    """Somebody listens there already."""


def run(settings: ServeSettings, engine: Engine) -> None:
    """Serves until interrupted. Raises ``PortInUse``."""
    configure(settings.log_level)
    listener = _listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    shown = "localhost" if settings.host in ("127.0.0.1", "::1", "0.0.0.0", "::") else settings.host
    url = f"http://{shown}:{port}{settings.root_path}"
    structlog.get_logger("omnitalk").info("listening", url=url, engine=engine.capabilities.name)
    print(f"\n  Omnitalk is on  {url}\n  The engine ({engine.capabilities.name}) is loading; the page says when it is ready.\n", file=sys.stderr)
    config = uvicorn.Config(
        create_app(settings, engine),
        ws="websockets-sansio",
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        root_path=settings.root_path,
        log_config=None,
        access_log=settings.log_level == "debug",
        timeout_graceful_shutdown=10,
        server_header=False,
    )
    with listener:
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
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
