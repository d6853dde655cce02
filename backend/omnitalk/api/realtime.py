"""``WS /v1/realtime`` and its alias ``/v1/duplex``."""

from fastapi import APIRouter, WebSocket

from omnitalk.transports.websocket import origin_allowed, serve_socket

from .state import state_of

__all__ = ["router"]

router = APIRouter()


@router.websocket("/v1/realtime")
@router.websocket("/v1/duplex")
async def realtime(websocket: WebSocket) -> None:
    """One call over one socket; a page of a foreign origin is refused with 403 before the upgrade."""
    state = state_of(websocket)
    if not origin_allowed(websocket, tuple(state.settings.allow_origin)):
        await websocket.close(1008, "origin_not_allowed")
        return
    await serve_socket(websocket, state.hub, state.socket)
