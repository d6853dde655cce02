"""One session on a vLLM-Omni server: its socket, its resume token, and what is done when the network breaks."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import structlog

from omnitalk.engines.base import EngineError
from omnitalk.protocol.base import JsonObject

from . import commands
from .boundary import UnitBoundary
from .events import RemoteEvent

__all__ = ["RemoteHandle", "open_handle"]

log = structlog.get_logger("omnitalk.remote")

_OPEN_S = 30.0
_DELAYS_S = (0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0)
"""Tries to come back, within the 30 s that vLLM-Omni keeps a session without its socket."""

_ACK_EVERY = 50
_MAX_BYTES = 64 * 1024 * 1024
_PIECES_A_UNIT = 10


class RemoteHandle:
    """Looks like vLLM-Omni's own session handle: ``submit``, ``events``, ``close``."""

    def __init__(self, url: str, socket: Any, session_id: str, token: str | None, boundary: UnitBoundary) -> None:
        self.url, self.session_id, self.boundary = url, session_id, boundary
        self._socket: Any = socket
        self._token = token
        self._seen = 0
        self._pieces = 0
        self._closing = False
        self._back = asyncio.Event()
        self._back.set()

    async def submit(self, command: commands.Command) -> None:
        """Send a command; while the connection is lost, wait for it. Raises ``EngineError`` when it does not come back."""
        while True:
            await self._back.wait()
            if self._closing:
                raise EngineError("engine_error", "The connection to the model's server is lost.", kind="server_error", retryable=True)
            try:
                await self._socket.send(json.dumps(command.wire()))
            except Exception as problem:
                if not _is_lost(problem):
                    raise
                # The reader notices too and reconnects; until then there is nobody to send to.
                self._back.clear()
                continue
            break
        if isinstance(command, commands.AppendAudio):
            self._pieces += 1
            if self._pieces % _PIECES_A_UNIT == 0:
                self.boundary.unit_sent()

    async def events(self) -> AsyncIterator[RemoteEvent]:
        """Events in order, across lost connections; ends with ``session.closed`` or ``session.expired``."""
        while not self._closing:
            try:
                async for message in self._socket:
                    for event in self._read(message):
                        yield event
                        if event.type in ("session.closed", "session.expired"):
                            return
                    await self._acknowledge()
            except Exception as problem:
                if not _is_lost(problem):
                    raise
            if self._ended() or not await self._come_back():
                if self._ended():
                    return
                self._closing = True
                self._back.set()
                yield RemoteEvent({"type": "session.closed", "reason": "backend_lost"})
                return

    def _ended(self) -> bool:
        return self._closing

    def _read(self, message: str | bytes) -> list[RemoteEvent]:
        if isinstance(message, bytes):
            return []
        data = json.loads(message)
        if not isinstance(data, dict):
            return []
        if isinstance(data.get("server_event_seq"), int):
            self._seen = data["server_event_seq"]
        return self.boundary.pass_on(RemoteEvent(data))

    async def _acknowledge(self) -> None:
        if self._seen and self._seen % _ACK_EVERY == 0:
            await self._socket.send(json.dumps({"type": "session.event_ack", "server_event_seq": self._seen}))

    async def _come_back(self) -> bool:
        self._back.clear()
        if self._token is None:
            return False
        for delay in _DELAYS_S:
            await asyncio.sleep(delay)
            try:
                self._socket, answer = await _connect(
                    self.url,
                    {
                        "type": "session.resume",
                        "session_id": self.session_id,
                        "resume_token": self._token,
                        "last_received_server_event_seq": self._seen,
                    },
                    ("session.resumed",),
                )
            except EngineError as problem:
                if problem.code in ("invalid_resume_token", "session_resume_expired", "unsupported_session_resume", "unknown_session"):
                    log.warning("cannot_resume", session=self.session_id, code=problem.code)
                    return False
                continue
            self._token = answer.get("resume_token") or self._token
            log.info("resumed", session=self.session_id)
            self._back.set()
            return True
        return False

    async def close(self, *, reason: str = "client_close") -> None:
        """End the session on the server. Idempotent."""
        if self._closing:
            return
        self._closing = True
        self._back.set()
        with contextlib.suppress(Exception):
            await self._socket.send(json.dumps({"type": "session.close", "reason": reason}))
        with contextlib.suppress(Exception):
            await self._socket.close()


async def open_handle(backend: str, model: str, session: JsonObject) -> RemoteHandle:
    """Open a session. Raises ``EngineError``: ``backend_unavailable``, or what the server says of the settings."""
    url = f"{backend.rstrip('/')}/v1/realtime?duplex=1&autostart=0"
    socket, created = await _connect(
        url, {"type": "session.update", "session": {**session, **({"model": model} if model else {})}}, ("session.created",)
    )
    found = created.get("session")
    session_id = str(found.get("id")) if isinstance(found, dict) else ""
    return RemoteHandle(url, socket, session_id, created.get("resume_token"), UnitBoundary())


async def _connect(url: str, first: JsonObject, answers: tuple[str, ...]) -> tuple[Any, JsonObject]:
    import websockets

    try:
        async with asyncio.timeout(_OPEN_S):
            socket = await websockets.connect(url, max_size=_MAX_BYTES, compression=None, open_timeout=_OPEN_S)
            try:
                await socket.send(json.dumps(first))
                while True:
                    answer = json.loads(await socket.recv())
                    if answer.get("type") in answers:
                        return socket, answer
                    if answer.get("type") == "error":
                        problem = RemoteEvent(answer)
                        kind = "rate_limit_error" if problem.code == "resource_exhausted" else "invalid_request_error"
                        raise EngineError(problem.code, problem.message, kind=kind, retryable=problem.code == "resource_exhausted")
            except BaseException:
                await socket.close()
                raise
    except EngineError:
        raise
    except Exception as problem:
        if not _is_lost(problem):
            raise
        message = f"The model's server {_host(url)} cannot be reached ({type(problem).__name__})."
        raise EngineError("backend_unavailable", message, kind="server_error", retryable=True) from problem


def _host(url: str) -> str:
    return url.split("//", 1)[-1].split("/", 1)[0]


def _is_lost(problem: BaseException) -> bool:
    import websockets

    return isinstance(problem, OSError | TimeoutError | websockets.WebSocketException)
