"""What a request costs the key that it comes with, and what routes are told about it."""

from typing import Literal
from urllib.parse import parse_qs

import msgspec
from starlette.requests import HTTPConnection
from starlette.types import Scope

from .keys import Key
from .limits import Seat

__all__ = ["ADMITTED", "Admitted", "Cost", "admitted", "cost_of"]

ADMITTED = "omnitalk.admitted"
"""Where routes find whose request it is."""

_CALLS = "/v1/realtime/calls"


class Admitted(msgspec.Struct, frozen=True):
    """``seat``: for what goes on; a call keeps it until it is over. ``only_returns``: a call may be taken up again, and none opened.

    ``socket_pass``: for ``/config``, what the page shows a socket of another host instead of its cookie.
    """

    key: Key
    seat: Seat | None
    only_returns: bool = False
    socket_pass: str | None = None


class Cost(msgspec.Struct, frozen=True):
    """``counts``: among those that begin in a minute. ``takes_seat``: among those that go on at once."""

    counts: bool
    takes_seat: bool
    only_returns: bool = False


def admitted(connection: HTTPConnection) -> Admitted | None:
    """None where anybody may come in."""
    found: Admitted | None = connection.scope.get(ADMITTED)
    return found


def cost_of(scope: Scope, path: str) -> Cost:
    """A call keeps its seat while its connection is lost, so whoever returns to one needs no second; and ending one is always possible."""
    kind: Literal["http", "websocket"] = scope["type"]
    acts = kind == "websocket" or scope["method"] not in ("GET", "HEAD")
    if path.startswith(_CALLS + "/"):
        return Cost(counts=False, takes_seat=False)
    if kind == "websocket" or path == _CALLS:
        returns = acts and _says_it_returns(scope)
        return Cost(counts=True, takes_seat=acts and not returns, only_returns=returns)
    if path.startswith("/gradio/"):
        # Its answers come over a stream that stays open while the demo is; what is asked is posted.
        return Cost(counts=acts, takes_seat=False)
    return Cost(counts=path.startswith("/v1/"), takes_seat=acts and path.startswith("/v1/"))


def _says_it_returns(scope: Scope) -> bool:
    said = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("resume", [""])
    return said[0].lower() in ("1", "true", "yes", "on")
