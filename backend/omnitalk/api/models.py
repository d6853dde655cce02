"""``GET /v1/models``: the one model that this server runs, in OpenAI's shape."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from omnitalk.protocol.errors import ProtocolError

from .problems import problem_response
from .state import state_of

__all__ = ["router"]

router = APIRouter()


def _card(name: str) -> dict[str, Any]:
    # Weights have no one birthday that all engines know; OpenAI's clients want a number.
    return {"id": name, "object": "model", "created": 0, "owned_by": "omnitalk"}


@router.get("/v1/models")
async def list_models(request: Request) -> dict[str, Any]:
    """A list of one."""
    return {"object": "list", "data": [_card(state_of(request).hub.engine.capabilities.model)]}


@router.get("/v1/models/{name:path}")
async def model(request: Request, name: str) -> JSONResponse:
    """That model, or 404 with OpenAI's error object."""
    here = state_of(request).hub.engine.capabilities.model
    if name == here:
        return JSONResponse(_card(here))
    message = f"There is no model {name[:100]!r} here; this server runs {here!r}."
    return problem_response(ProtocolError("model_not_found", message, param="model"))
