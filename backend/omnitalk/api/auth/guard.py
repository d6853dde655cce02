"""The guard at the door: ASGI middleware that lets in who has a key, a cookie or a link, and says to everybody else what is missing.

Programs send ``Authorization: Bearer KEY`` (OpenAI's browser client puts the key in a WebSocket subprotocol instead). A person's browser
shows a signed cookie, which it got for a key typed once or for a signed link; a cookie counts only for pages of our own origin.
"""

import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnitalk.api.origins import readable_by
from omnitalk.api.prefix import path_inside
from omnitalk.api.problems import problem_response
from omnitalk.call.clock import Clock, SystemClock
from omnitalk.protocol.errors import ProtocolError
from omnitalk.transports.websocket import origin_allowed

from .admitted import ADMITTED, Admitted, cost_of
from .cookies import COOKIE, read_cookie, renewable, set_cookie, socket_pass
from .keyfile import KeyFile
from .keys import Key
from .limits import Limits
from .signin import SignIn
from .tokens import verify

__all__ = ["COOKIE", "Guard"]

_SUBPROTOCOL = "openai-insecure-api-key."
_OPEN = ("/healthz", "/readyz", "/page.css", "/signin.css", "/manifest.webmanifest")
"""What anybody may see: whether the server lives and is ready (probes have no key), and what the sign-in page is made of."""

_SAFE = ("GET", "HEAD", "OPTIONS")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="omnitalk"'}


class Guard:
    """``wall``: epoch seconds, for expiry; ``clock``: monotonic, for limits. ``signin``: the sign-in page."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keyring: KeyFile,
        limits: Limits,
        signin: str,
        allow_origin: tuple[str, ...] = (),
        public_url: str | None = None,
        clock: Clock | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._app, self._keyring, self._limits, self._wall = app, keyring, limits, wall
        self._readers, self._public_url = allow_origin, public_url
        # "Every page" is meant for programs in pages, which have a key of their own, and not for the cookies of whoever opens one.
        self._origins = tuple(each for each in allow_origin if each != "*")
        self._signin = SignIn(keyring, signin, clock or SystemClock(), origins=self._origins, public_url=public_url, wall=wall)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the request in, or answers it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        path = path_inside(scope)
        if scope["type"] == "http" and path == "/signin":
            answer = await self._signin.answer(Request(scope, receive))
            await answer(scope, receive, send)
            return
        if _is_open(path) or (scope["type"] == "http" and scope["method"] == "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            key = self._who(HTTPConnection(scope))
            if key is not None:
                await self._admit(key, path, scope, receive, send)
                return
            refusal: Response = self._ask(scope)
        except ProtocolError as problem:
            refusal = self._refusal(problem, scope)
        await _refuse(refusal, scope, receive, send)

    async def _admit(self, key: Key, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        cost = cost_of(scope, path)
        if cost.counts:
            self._limits.begin(key)
        seat = self._limits.enter(key) if cost.takes_seat else None
        try:
            shown = socket_pass(self._keyring.secret, HTTPConnection(scope), self._wall()) if path == "/config" else None
            inside = {**scope, ADMITTED: Admitted(key, seat, only_returns=cost.only_returns, socket_pass=shown)}
            await self._app(inside, receive, self._renewing(key, path, scope, send))
        finally:
            if seat is not None:
                seat.request_over()

    def _who(self, connection: HTTPConnection) -> Key | None:
        """Whose request it is; None when it says nothing about that. Raises ``ProtocolError``: a key or a page that will not do."""
        bearer, offered = _bearer(connection.headers), _subprotocol(connection)
        given = bearer or offered
        if given is not None:
            key = self._keyring.find(given)
            if key is None and bearer is None and (shown := verify(self._keyring.secret, "socket", given, self._wall())) is not None:
                key = self._keyring.named(shown[0])
            if key is None:
                raise ProtocolError("invalid_api_key", "This key is not known here. Ask whoever runs the server for one.")
            return key
        name = read_cookie(self._keyring.secret, connection, self._wall())
        key = self._keyring.named(name) if name is not None else None
        acts = connection.scope["type"] == "websocket" or connection.scope["method"] not in _SAFE
        # A browser sends a cookie along for any page that asks it to.
        ours = connection.headers.get("origin") is not None and origin_allowed(connection, self._origins, self._public_url)
        if key is not None and acts and not ours:
            raise ProtocolError("origin_not_allowed", "A cookie counts for this server's own pages only; programs send a key.")
        return key

    def _ask(self, scope: Scope) -> Response:
        """A person is shown where to sign in; a program is told what to send."""
        wants_page = scope["type"] == "http" and scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
        if wants_page:
            return RedirectResponse(_up_to_root(scope) + "signin", status_code=303, headers={"Cache-Control": "no-store"})
        message = "This server wants a key: send Authorization: Bearer YOUR-KEY, or sign in on its page."
        return self._refusal(ProtocolError("missing_api_key", message), scope)

    def _refusal(self, problem: ProtocolError, scope: Scope) -> Response:
        """With what lets a page of another origin, where those are allowed, read why."""
        headers = readable_by(HTTPConnection(scope), self._readers)
        return problem_response(problem, {**headers, **_CHALLENGE} if problem.code.endswith("_api_key") else headers)

    def _renewing(self, key: Key, path: str, scope: Scope, send: Send) -> Send:
        """A person who keeps coming stays signed in: the page's first question renews the cookie."""
        now = self._wall()
        if path != "/config" or not renewable(self._keyring.secret, HTTPConnection(scope), now):
            return send

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                renewed = Response()
                set_cookie(renewed, self._keyring.secret, scope, key.name, now)
                message = {**message, "headers": [*message["headers"], *(h for h in renewed.raw_headers if h[0] == b"set-cookie")]}
            await send(message)

        return send_with_cookie


def _is_open(path: str) -> bool:
    # Files are looked up with `..` taken at its word.
    return path in _OPEN or (path.startswith("/icons/") and ".." not in path)


def _up_to_root(scope: Scope) -> str:
    """From this path to the place where the page lies, without knowing what a proxy calls that."""
    return "../" * max(0, path_inside(scope).count("/") - 1) or "./"


def _bearer(headers: Headers) -> str | None:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" and value.strip() else None


def _subprotocol(connection: HTTPConnection) -> str | None:
    offered: list[Any] = connection.scope.get("subprotocols") or []
    return next((str(each).removeprefix(_SUBPROTOCOL) for each in offered if str(each).startswith(_SUBPROTOCOL)), None)


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    # Before the upgrade, a socket is refused with a status like any other request.
    await send({"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})
