"""Signing in: a key typed into a form, or a signed link, becomes a cookie."""

import asyncio
import html
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from omnitalk.api.problems import problem_response
from omnitalk.call.clock import Clock
from omnitalk.call.flood import TokenBucket
from omnitalk.protocol.errors import ProtocolError
from omnitalk.transports.websocket import origin_allowed

from .cookies import set_cookie
from .keyfile import KeyFile
from .tokens import verify

__all__ = ["SignIn"]

_TRIES_A_MINUTE = 10.0
_KNOWN_PEERS = 1_024
_LONGEST_PEER = 64
_MAX_FORM = 4_096
_FORM_S = 10.0
_HEADERS = {"Cache-Control": "no-store"}
"""No stricter referrer policy than everywhere: under ``no-referrer`` the form would be sent with ``Origin: null``."""


class SignIn:
    """``page``: its HTML, with a comment where a problem is said. ``wall``: epoch seconds, for expiry; ``clock``: monotonic, for limits."""

    def __init__(
        self,
        keyring: KeyFile,
        page: str,
        clock: Clock,
        *,
        origins: tuple[str, ...],
        public_url: str | None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._keyring, self._html, self._clock, self._wall = keyring, page, clock, wall
        self._origins, self._public_url = origins, public_url
        self._tries: OrderedDict[str, TokenBucket] = OrderedDict()

    async def answer(self, request: Request) -> Response:
        """The page, a redirect to where the signed-in are, or the page with what is wrong and a status that says so."""
        token = request.query_params.get("token")
        try:
            if request.method == "POST":
                self._count_try(request)
                return self._enter_with_key(await _form_key(request), request)
            if request.method not in ("GET", "HEAD"):
                return Response(self._page("Sign in with GET or POST."), 405, {**_HEADERS, "Allow": "GET, HEAD, POST"}, "text/html")
            if token is not None:
                self._count_try(request)
                return self._enter_with_link(token, request)
        except ProtocolError as problem:
            refusal = problem_response(problem)
            kept = {name: refusal.headers[name] for name in ("retry-after",) if name in refusal.headers}
            return Response(self._page(problem.message), refusal.status_code, {**_HEADERS, **kept}, "text/html")
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(self._page(""), headers=_HEADERS, media_type="text/html")

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
        return self._welcome(found[0], request, guest_until=found[1])

    def _welcome(self, name: str, request: Request, *, guest_until: float | None = None) -> Response:
        answer = RedirectResponse("./", status_code=303, headers={**_HEADERS, "Referrer-Policy": "no-referrer"})
        set_cookie(answer, self._keyring.secret, request.scope, name, self._wall(), guest_until=guest_until)
        return answer

    def _page(self, problem: str) -> str:
        said = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
        return self._html.replace("<!-- problem -->", said)

    def _count_try(self, request: Request) -> None:
        peer = request.client.host[:_LONGEST_PEER] if request.client is not None else ""
        bucket = self._tries.pop(peer, None) or TokenBucket(_TRIES_A_MINUTE / 60.0, _TRIES_A_MINUTE, self._clock)
        self._tries[peer] = bucket
        while len(self._tries) > _KNOWN_PEERS:
            self._tries.popitem(last=False)
        if not bucket.take():
            raise ProtocolError("rate_limit_exceeded", "Too many tries. Wait a minute.", retryable=True)


async def _form_key(request: Request) -> str:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise ProtocolError("unsupported_media_type", "Send the key as a form field: application/x-www-form-urlencoded, key=….")
    body = bytearray()
    try:
        async with asyncio.timeout(_FORM_S):
            async for piece in request.stream():
                body += piece
                if len(body) > _MAX_FORM:
                    raise ProtocolError("body_too_large", "Send the form with one field, key.")
        fields = parse_qs(body.decode(), max_num_fields=4)
    except TimeoutError:
        raise ProtocolError("request_timeout", "The form took too long to arrive.") from None
    except ValueError:
        raise ProtocolError("bad_event", "The form cannot be read. Send one field, key.") from None
    return fields.get("key", [""])[0]
