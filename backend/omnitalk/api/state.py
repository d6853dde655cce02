"""What the routers share: one object on the app, found again from a request or a socket."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import HTTPConnection

from omnitalk.hub import Hub
from omnitalk.transports.websocket import SocketConfig
from omnitalk.profiles import Profile
from omnitalk.settings import ServeSettings

__all__ = ["AppState", "state_of"]


@dataclass
class AppState:
    """``start_problem``: why the engine did not start, for ``/readyz`` and the page."""

    settings: ServeSettings
    hub: Hub
    profiles: dict[str, Profile]
    socket: SocketConfig
    start_problem: str | None = None


def state_of(connection: HTTPConnection) -> AppState:
    """The app's state."""
    return cast(AppState, connection.app.state.omnitalk)
