"""What every OpenAI-compatible door does around its work: who may ask, how many at once, and refusals as OpenAI writes them."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from omnitalk.engines.base import EngineError
from omnitalk.protocol.errors import ProtocolError

from .body import content_type
from .origins import check_origin, cors
from .problems import problem_response
from .state import state_of

__all__ = ["answering"]

Door = Callable[[Request, AsyncExitStack], Awaitable[Response]]
Route = Callable[[Request], Awaitable[Response]]

_CLIENT_GONE = 499
"""nginx's number for it; nobody reads it but logs."""


def answering(kind: str) -> Callable[[Door], Route]:
    """Makes a route of a door that takes bodies of the type ``kind``.

    The door gets an exit stack that holds its place: a response that goes on after the door returns takes it over (``pop_all``).
    """

    def of(door: Door) -> Route:
        async def route(request: Request) -> Response:
            try:
                check_origin(request)
                if content_type(request) != kind:
                    # A type that pages of other origins cannot send without asking first.
                    raise ProtocolError("unsupported_media_type", f"Send {kind}, with that Content-Type.")
                async with AsyncExitStack() as held:
                    held.enter_context(state_of(request).doors.gate.place())
                    response = await door(request, held)
            except (ProtocolError, EngineError) as problem:
                return problem_response(problem, cors(request))
            except ClientDisconnect:
                return Response(status_code=_CLIENT_GONE)
            response.headers.update(cors(request))
            return response

        # For the API's description; the signature stays this function's own.
        route.__name__, route.__doc__ = door.__name__, door.__doc__
        return route

    return of
