"""Pages of other origins: refused, unless the operator allows them; and what a browser wants to hear about it."""

from fastapi import Request, Response
from starlette.requests import HTTPConnection

from omnitalk.protocol.errors import ProtocolError
from omnitalk.transports.websocket import origin_allowed

from .problems import problem_response
from .state import state_of

__all__ = ["check_origin", "cors", "preflight", "readable_by"]


def check_origin(request: Request) -> None:
    """Raises ``ProtocolError`` (``origin_not_allowed``)."""
    if not origin_allowed(request, tuple(state_of(request).settings.allow_origin)):
        origin = request.headers.get("origin", "")[:200]
        raise ProtocolError("origin_not_allowed", f"Pages of {origin} may not call here. The host can allow them: --allow-origin.")


def cors(request: Request) -> dict[str, str]:
    """Headers that let the page read the answer; none for a page that may not, and for clients that are no browsers."""
    return readable_by(request, tuple(state_of(request).settings.allow_origin))


def readable_by(connection: HTTPConnection, allowed: tuple[str, ...]) -> dict[str, str]:
    """The same, where the app's state is not at hand."""
    origin = connection.headers.get("origin")
    if origin is None or not origin_allowed(connection, allowed):
        return {}
    readable = "Location, Retry-After, Omnitalk-Resume-Token"
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": readable, "Vary": "Origin"}


def preflight(request: Request, methods: str) -> Response:
    """Whether another origin's page may send its request: 204, or 403."""
    try:
        check_origin(request)
    except ProtocolError as problem:
        return problem_response(problem)
    allowed = {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": request.headers.get("access-control-request-headers", "content-type, authorization")[:500],
        "Access-Control-Max-Age": "600",
    }
    return Response(status_code=204, headers={**cors(request), **allowed})
