"""``/config``: all that the page must know before a call."""

from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from omnitalk.protocol.binary_codec import SUBPROTOCOL
from omnitalk.protocol.limits import MAX_EVENT_BYTES

from .auth import admitted
from .health import readiness
from .state import state_of

__all__ = ["router"]

router = APIRouter()


@router.get("/config")
async def config(request: Request) -> JSONResponse:
    """Engine, readiness, profiles, the realtime address and the limits. Every URL is relative to the page."""
    state = state_of(request)
    capabilities = state.hub.engine.capabilities
    engine: dict[str, Any] = msgspec.to_builtins(capabilities)
    engine.pop("wire")
    public, who = state.settings.public_realtime_url, admitted(request)
    body: dict[str, Any] = {
        "version": version("omnitalk"),
        "engine": engine,
        "ready": readiness(state),
        "profile": capabilities.profile,
        "profiles": [{**profile.as_dict(), "module": f"profiles/{profile.id}/profile.js"} for profile in state.profiles.values()],
        "realtime": {"path": "v1/realtime", "public_url": public, "subprotocol": SUBPROTOCOL},
        "webrtc": None if state.switchboard is None else {"path": "v1/realtime/calls", "ice_servers": "v1/realtime/ice_servers"},
        "gradio": None if state.demo is None else "gradio/",
        "loopback": state.loopback is not None,
        "limits": {
            "calls": state.hub.slots,
            "queue": state.settings.queue_length,
            "grace_s": state.settings.grace_s,
            "max_event_bytes": MAX_EVENT_BYTES,
        },
    }
    if public and who is not None and who.socket_pass and urlsplit(public).hostname != request.url.hostname:
        body["realtime"]["pass"] = who.socket_pass
    return JSONResponse(body, headers={"Cache-Control": "no-store"})
