"""Refusals over HTTP: which status a code stands for, and OpenAI's error object. Every door answers through here."""

from typing import Any

from fastapi.responses import JSONResponse

from omnitalk.engines.base import EngineError
from omnitalk.protocol.errors import ProtocolError, error_type

__all__ = ["Problem", "error_object", "problem_response", "status_of"]

Problem = ProtocolError | EngineError
"""What a door catches and answers with."""

_STATUS = {
    "invalid_api_key": 401,
    "missing_api_key": 401,
    "invalid_resume_token": 403,
    "origin_not_allowed": 403,
    "call_not_found": 404,
    "model_not_found": 404,
    "session_resume_expired": 404,
    "request_timeout": 408,
    "session_resume_conflict": 409,
    "body_too_large": 413,
    "media_too_large": 413,
    "unsupported_media_type": 415,
    "queue_full": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "engine_error": 500,
    "internal_error": 500,
    "no_audio_produced": 500,
    "unsupported_by_engine": 501,
    "webrtc_unavailable": 501,
    "engine_dead": 503,
    "engine_not_ready": 503,
    "server_draining": 503,
    "session_closed": 503,
}
"""By error code; any other is the request's fault: 400."""

_RETRY_AFTER_S = "5"


def status_of(problem: Problem) -> int:
    """The HTTP status. A failure of the server's own that may pass is 503, under whatever code."""
    kind = problem.kind if isinstance(problem, EngineError) else error_type(problem.code)
    status = _STATUS.get(problem.code, 500 if kind == "server_error" else 400)
    return 503 if status == 500 and problem.retryable else status


def error_object(problem: Problem) -> dict[str, Any]:
    """``{"error": {…}}`` as OpenAI writes it."""
    status = status_of(problem)
    kind = "rate_limit_error" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": problem.message[:1000], "type": kind, "param": problem.param, "code": problem.code}}


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    """The refusal, with ``Retry-After`` where it helps to come back, and a word to OpenAI's clients where it does not."""
    status = status_of(problem)
    headers = dict(headers or {})
    if status in (429, 503):
        headers["Retry-After"] = _RETRY_AFTER_S
    elif status >= 500 and not problem.retryable:
        headers["X-Should-Retry"] = "false"
    return JSONResponse(error_object(problem), status_code=status, headers=headers)
