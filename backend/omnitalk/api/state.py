"""What the routers share: one object on the app, found again from a request or a socket."""

import asyncio
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from omnitalk.hub import Hub
from omnitalk.profiles import Profile
from omnitalk.settings import ServeSettings
from omnitalk.transports.websocket import SocketConfig

from .doors import Doors

if TYPE_CHECKING:
    from omnitalk.gradio_tab.mount import Demo
    from omnitalk.transports.webrtc.ice import IceServer
    from omnitalk.transports.webrtc.switchboard import Switchboard

__all__ = ["AppState", "Loopback", "state_of", "state_of_app"]


@dataclass
class Loopback:
    """An echo beside the engine: calls of its own, which take no line from anybody. ``switchboard`` None: over sockets only."""

    hub: Hub
    switchboard: "Switchboard | None" = None


@dataclass
class AppState:
    """``start_problem``: why the engine did not start, for ``/readyz`` and the page. ``sockets``: the tasks that serve one each.

    ``doors``: of the OpenAI-compatible APIs.
    ``loopback``: the echo that a page measures its way with.
    ``switchboard``: takes calls over WebRTC; None when it is off or ``webrtc_problem`` says why it cannot be.
    """

    settings: ServeSettings
    hub: Hub
    profiles: dict[str, Profile]
    socket: SocketConfig
    doors: Doors
    start_problem: str | None = None
    sockets: set[asyncio.Task[Any]] = field(default_factory=set)
    switchboard: "Switchboard | None" = None
    webrtc_problem: str | None = None
    loopback: "Loopback | None" = None
    demo: "Demo | None" = None

    @property
    def carriers(self) -> set[asyncio.Task[Any]]:
        """The tasks that carry a call each, over whatever."""
        return self.sockets.union(*(board.peers for board in self.switchboards))

    @property
    def hubs(self) -> list[Hub]:
        """All that hold calls."""
        return [self.hub] if self.loopback is None else [self.hub, self.loopback.hub]

    @property
    def switchboards(self) -> "list[Switchboard]":
        """All that take offers."""
        boards = (self.switchboard, self.loopback.switchboard if self.loopback is not None else None)
        return [board for board in boards if board is not None]

    def ice_servers(self) -> "list[IceServer]":
        """For one caller."""
        from omnitalk.transports.webrtc.ice import ice_servers

        secret = self.settings.turn_secret
        return ice_servers(
            self.settings.ice_server,
            secret=None if secret is None else secret.get_secret_value(),
            ttl_s=self.settings.turn_ttl_s,
            user=uuid.uuid4().hex[:12],
        )


def state_of(connection: HTTPConnection) -> AppState:
    """The app's state."""
    return state_of_app(connection.app)


def state_of_app(app: Starlette) -> AppState:
    """The same, from the app itself."""
    return cast(AppState, app.state.omnitalk)
