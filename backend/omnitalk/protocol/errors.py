"""Refusals: the exception that every decoder raises, the error codes, and the ``error`` event made of them."""

from typing import Final

from .base import UNSET
from .server import Error, ErrorDetail

__all__ = ["ProtocolError", "error_event", "error_type"]

_SERVER_ERRORS: Final = frozenset(
    {
        "barge_in_unsupported",
        "commit_aborted",
        "engine_dead",
        "engine_error",
        "engine_not_ready",
        "internal_error",
        "realtime_input_failed",
        "runtime_abort_failed",
        "runtime_append_failed",
        "runtime_append_task_failed",
        "runtime_data_plane_stream_failed",
        "runtime_data_plane_text_without_audio",
        "runtime_resume_failed",
        "runtime_signal_failed",
        "runtime_touch_failed",
        "server_vad_unavailable",
    }
)
"""Codes that blame the server."""

_RATE_LIMITS: Final = frozenset({"input_backpressure", "queue_full", "rate_limit_exceeded", "resource_exhausted", "server_draining"})
"""Codes that ask the client to slow down or come back."""

_MAX_MESSAGE: Final = 400
"""Characters. A message quotes what the client sent, and a client may send megabytes."""


def error_type(code: str) -> str:
    """OpenAI's class of an error code. Codes of neither list blame the request."""
    if code in _SERVER_ERRORS:
        return "server_error"
    if code in _RATE_LIMITS:
        return "rate_limit_error"
    return "invalid_request_error"


class ProtocolError(Exception):
    """A client's event, frame or setting is refused.

    ``code``: a word of the Realtime vocabulary. ``param``: the path of the field that is wrong, such as
    ``session.audio.input.format.rate``. ``event_id``: the client's own id of the refused event, when it could be read.
    """

    def __init__(
        self, code: str, message: str, *, param: str | None = None, event_id: str | None = None, retryable: bool | None = None
    ) -> None:
        message = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"
        super().__init__(message)
        self.code, self.message, self.param, self.event_id, self.retryable = code, message, param, event_id, retryable

    def to_event(self) -> Error:
        """The ``error`` event that tells the client."""
        return error_event(self.code, self.message, param=self.param, event_id=self.event_id, retryable=self.retryable)


def error_event(
    code: str,
    message: str,
    *,
    param: str | None = None,
    event_id: str | None = None,
    retryable: bool | None = None,
    kind: str | None = None,
) -> Error:
    """An ``error`` event; ``kind`` overrides the type that the code stands for."""
    return Error(
        error=ErrorDetail(
            type=kind or error_type(code),
            code=code,
            message=message,
            param=param,
            event_id=event_id,
            retryable=UNSET if retryable is None else retryable,
        )
    )
