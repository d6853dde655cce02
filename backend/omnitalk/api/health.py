"""``/healthz``: the process lives. ``/readyz``: the engine can take a call. ``/metrics``: figures."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from omnitalk.metrics import exposition

from .state import AppState, state_of

__all__ = ["readiness", "router"]

router = APIRouter()


def readiness(state: AppState) -> dict[str, Any]:
    """``ready``, ``stage`` and ``progress`` (0 to 1) while loading, ``problem`` when it cannot."""
    health = state.hub.engine.health()
    return {
        "ready": health.ready,
        "stage": health.stage,
        "progress": health.progress,
        "problem": state.start_problem or health.problem,
        "calls": len(state.hub),
        "slots": state.hub.slots,
        "waiting": state.hub.admission.waiting,
    }


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answers while the process lives, engine or not."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> JSONResponse:
    """200 when a call can be taken, else 503 with what is being done about it."""
    ready = readiness(state_of(request))
    return JSONResponse(ready, status_code=200 if ready["ready"] else 503)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    return Response(exposition(state_of(request).hub), media_type="text/plain; version=0.0.4; charset=utf-8")
