"""What the routers share: one object on the app, found again from a request or a socket."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from omnitalk.hub import Hub
from omnitalk.profiles import Profile
from omnitalk.settings import ServeSettings
from omnitalk.transports.websocket import SocketConfig

__all__ = ["AppState", "state_of", "state_of_app"]


@dataclass
class AppState:
    """``start_problem``: why the engine did not start, for ``/readyz`` and the page. ``sockets``: the tasks that serve one each."""

    settings: ServeSettings
    hub: Hub
    profiles: dict[str, Profile]
    socket: SocketConfig
    start_problem: str | None = None
    sockets: set[asyncio.Task[Any]] = field(default_factory=set)


def state_of(connection: HTTPConnection) -> AppState:
    """The app's state."""
    return state_of_app(connection.app)


def state_of_app(app: Starlette) -> AppState:
    """The same, from the app itself."""
    return cast(AppState, app.state.omnitalk)
