"""``WS /v1/realtime`` and its alias ``/v1/duplex``."""

import asyncio

from fastapi import APIRouter, WebSocket
from fastapi.responses import JSONResponse

from omnitalk.hub import CallRunner
from omnitalk.transports.websocket import origin_allowed, serve_socket

from .auth import admitted
from .state import state_of

__all__ = ["router"]

router = APIRouter()


@router.websocket("/v1/realtime")
@router.websocket("/v1/duplex")
async def realtime(websocket: WebSocket) -> None:
    """One call over one socket; a page of a foreign origin is refused with 403 before the upgrade."""
    state = state_of(websocket)
    if not origin_allowed(websocket, tuple(state.settings.allow_origin), state.settings.public_realtime_url):
        origin = websocket.headers.get("origin", "")[:200]
        problem = {
            "code": "origin_not_allowed",
            "message": f"Pages of {origin} may not call here. The host can allow them: --allow-origin.",
        }
        await websocket.send_denial_response(JSONResponse({"error": problem}, status_code=403))
        return
    task = asyncio.current_task()
    assert task is not None
    state.sockets.add(task)
    echoes = websocket.query_params.get("loopback") == "1" and state.loopback is not None
    hub = state.loopback.hub if echoes and state.loopback else state.hub
    who = admitted(websocket)
    seat = None if who is None else who.seat

    def carries(runner: CallRunner, is_new: bool) -> None:
        # A call keeps its place among its key's while the connection is lost; whoever returns to one needs no second.
        if seat is not None and is_new:
            runner.when_over(seat.keep())
        elif seat is not None:
            seat.leave()

    try:
        await serve_socket(websocket, hub, state.socket, only_returns=who is not None and who.only_returns, carries=carries)
    finally:
        state.sockets.discard(task)
