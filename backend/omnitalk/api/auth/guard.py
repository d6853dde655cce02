"""The guard at the door: ASGI middleware that lets in who has a key, a cookie or a link, and says to everybody else what is missing.

Programs send ``Authorization: Bearer KEY`` (OpenAI's browser client puts the key in a WebSocket subprotocol instead). A person's browser
shows a signed cookie, which it got for a key typed once or for a signed link; a cookie counts only for pages of our own origin.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnitalk.api.problems import problem_response
from omnitalk.call.clock import Clock, SystemClock
from omnitalk.call.flood import TokenBucket
from omnitalk.protocol.errors import ProtocolError
from omnitalk.transports.websocket import origin_allowed

from .keys import Key, Keyring
from .limits import Limits
from .tokens import sign, verify

__all__ = ["COOKIE", "KEY_SCOPE", "Guard"]

COOKIE = "omnitalk_pass"
KEY_SCOPE = "omnitalk.key"
"""Where routes find whose request it is."""

_SUBPROTOCOL = "openai-insecure-api-key."
_OPEN = ("/healthz", "/readyz", "/page.css", "/signin.css", "/manifest.webmanifest")
"""What anybody may see: whether the server lives and is ready (probes have no key), and what the sign-in page is made of."""

_COOKIE_S = 12 * 3600.0
_SAFE = ("GET", "HEAD", "OPTIONS")
_TRIES_A_MINUTE = 10.0
_KNOWN_PEERS = 1_024
_MAX_FORM = 4_096


class Guard:
    """``wall``: epoch seconds, for expiry; ``clock``: monotonic, for limits. ``signin``: the sign-in page."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keyring: Keyring,
        limits: Limits,
        signin: str,
        allow_origin: tuple[str, ...] = (),
        public_url: str | None = None,
        clock: Clock | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._app, self._keyring, self._limits, self._signin = app, keyring, limits, signin
        self._origins, self._public_url = allow_origin, public_url
        self._clock, self._wall = clock or SystemClock(), wall
        self._tries: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the request in, or answers it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        path = _path(scope)
        if scope["type"] == "http" and path == "/signin":
            await (await self._sign_in(Request(scope, receive)))(scope, receive, send)
            return
        if path in _OPEN or path.startswith("/icons/") or (scope["type"] == "http" and scope["method"] == "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            key = self._who(HTTPConnection(scope))
            if key is not None:
                await self._admit(key, path, scope, receive, send)
                return
            refusal: Response = self._ask(scope)
        except ProtocolError as problem:
            refusal = problem_response(problem)
        await _refuse(refusal, scope, receive, send)

    async def _admit(self, key: Key, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        counted = scope["type"] == "websocket" or path.startswith("/v1/")
        leave = None
        if counted:
            self._limits.begin(key)
            leave = self._limits.enter(key)
        try:
            await self._app({**scope, KEY_SCOPE: key}, receive, self._renewing(key, path, scope, send))
        finally:
            if leave is not None:
                leave()

    # -- who is it? -------------------------------------------------------------------------------------------------------

    def _who(self, connection: HTTPConnection) -> Key | None:
        """Whose request it is; None when it says nothing about that. Raises ``ProtocolError``: a key or a page that will not do."""
        given = _bearer(connection.headers) or _subprotocol(connection)
        if given is not None:
            key = self._keyring.find(given)
            if key is None:
                raise ProtocolError("invalid_api_key", "This key is not known here. Ask whoever runs the server for one.")
            return key
        found = verify(self._keyring.secret, "cookie", connection.cookies.get(COOKIE, ""), self._wall())
        key = self._keyring.named(found[0]) if found is not None else None
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
        problem = ProtocolError("missing_api_key", "This server wants a key: send Authorization: Bearer YOUR-KEY, or sign in on its page.")
        return problem_response(problem, {"WWW-Authenticate": 'Bearer realm="omnitalk"'})

    def _renewing(self, key: Key, path: str, scope: Scope, send: Send) -> Send:
        """A person who keeps coming stays signed in: the page's first question renews a cookie that is past its middle."""
        found = verify(self._keyring.secret, "cookie", HTTPConnection(scope).cookies.get(COOKIE, ""), self._wall())
        if path != "/config" or found is None or found[1] - self._wall() > _COOKIE_S / 2:
            return send

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                renewed = Response()
                self._set_cookie(renewed, key.name, scope)
                message = {**message, "headers": [*message["headers"], *(h for h in renewed.raw_headers if h[0] == b"set-cookie")]}
            await send(message)

        return send_with_cookie

    # -- signing in -------------------------------------------------------------------------------------------------------

    async def _sign_in(self, request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:
            # It is in no log and in no referrer from here on.
            request.scope["query_string"] = b""
        try:
            self._count_try(request)
            if request.method == "POST":
                return self._enter_with_key(await _form_key(request), request)
            if token is not None:
                return self._enter_with_link(token, request)
        except ProtocolError as problem:
            page = Response(self._page(problem.message), media_type="text/html", headers={"Cache-Control": "no-store"})
            page.status_code = problem_response(problem).status_code
            return page
        if request.method != "GET":
            return JSONResponse({"error": {"message": "Sign in with GET or POST."}}, status_code=405, headers={"Allow": "GET, POST"})
        return Response(self._page(""), media_type="text/html", headers={"Cache-Control": "no-store"})

    def _enter_with_key(self, secret: str, request: Request) -> Response:
        if request.headers.get("origin") is not None and not origin_allowed(request, self._origins, self._public_url):
            raise ProtocolError("origin_not_allowed", "Another page sent you here. Open this page itself to sign in.")
        key = self._keyring.find(secret.strip())
        if key is None:
            raise ProtocolError("invalid_api_key", "This key is not known here.")
        return self._welcome(key.name, request)

    def _enter_with_link(self, token: str, request: Request) -> Response:
        found = verify(self._keyring.secret, "link", token, self._wall())
        if found is None or self._keyring.named(found[0]) is None:
            raise ProtocolError("invalid_api_key", "This link is not good, or not any more. Ask for a new one.")
        return self._welcome(found[0], request)

    def _welcome(self, name: str, request: Request) -> Response:
        answer = RedirectResponse("./", status_code=303, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
        self._set_cookie(answer, name, request.scope)
        return answer

    def _set_cookie(self, answer: Response, name: str, scope: Scope) -> None:
        token = sign(self._keyring.secret, "cookie", name, self._wall() + _COOKIE_S)
        secure = scope["scheme"] in ("https", "wss")
        answer.set_cookie(COOKIE, token, max_age=int(_COOKIE_S), path="/", httponly=True, samesite="lax", secure=secure)

    def _page(self, problem: str) -> str:
        said = f'<p class="problem" role="alert">{_escaped(problem)}</p>' if problem else ""
        return self._signin.replace("<!-- problem -->", said)

    def _count_try(self, request: Request) -> None:
        peer = request.client.host if request.client is not None else ""
        bucket = self._tries.pop(peer, None) or TokenBucket(_TRIES_A_MINUTE / 60.0, _TRIES_A_MINUTE, self._clock)
        self._tries[peer] = bucket
        while len(self._tries) > _KNOWN_PEERS:
            self._tries.popitem(last=False)
        if not bucket.take():
            raise ProtocolError("rate_limit_exceeded", "Too many tries. Wait a minute.", retryable=True)


def _path(scope: Scope) -> str:
    """Without the prefix that a proxy may have left on it."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if root and path.startswith(root) else path


def _up_to_root(scope: Scope) -> str:
    """From this path to the place where the page lies, without knowing what a proxy calls that."""
    return "../" * max(0, _path(scope).count("/") - 1) or "./"


def _bearer(headers: Headers) -> str | None:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" and value.strip() else None


def _subprotocol(connection: HTTPConnection) -> str | None:
    offered: list[Any] = connection.scope.get("subprotocols") or []
    return next((str(each).removeprefix(_SUBPROTOCOL) for each in offered if str(each).startswith(_SUBPROTOCOL)), None)


async def _form_key(request: Request) -> str:
    if int(request.headers.get("content-length") or 0) > _MAX_FORM or "content-length" not in request.headers:
        raise ProtocolError("body_too_large", "Send the form with one field, key.")
    async with request.form(max_files=0, max_fields=4) as form:
        value = form.get("key")
    return value if isinstance(value, str) else ""


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    # Before the upgrade, a socket is refused with a status like any other request.
    await send({"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
