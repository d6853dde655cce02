"""Opens sessions on one or several vLLM-Omni servers, the least busy first."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import structlog

from omnitalk.engines.base import Capabilities, EngineError, EngineSession, Health
from omnitalk.engines.omni.native import NativeSession
from omnitalk.engines.omni.session import OmniSession, Opened
from omnitalk.engines.omni.turns import TurnSession
from omnitalk.engines.omni.voice import Voice, built_in, from_data_url, from_file
from omnitalk.engines.omni.wire import native_session, turn_session
from omnitalk.media.vad import VadModel
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.session import SessionSettings

from . import commands
from .handle import RemoteHandle, open_handle

__all__ = ["RemoteEngine", "RemoteOptions"]

log = structlog.get_logger("omnitalk.remote")

_LOOK_S = 5.0
_LOOK_PATIENCE_S = 3.0
_CONTEXT = 40_960
_DEFAULT_CALLS = 16

_HONEST = {
    "minicpm": (
        "MiniCPM-o 4.5 on another server listens, sees and speaks at once, in steps of one second. It decides by itself when to speak,"
        " does not write down what you say, and takes no typed text in a call."
    ),
    "qwen3": "Qwen3-Omni on another server takes turns: it answers when you have finished, and stops when you talk over it.",
}


@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """``backends``: origins such as ``ws://gpu-host:8099``. ``model``: the name the servers know it by. ``voice``: a reference voice.

    ``profile``: ``minicpm-native`` or ``qwen3``, when the name does not tell.
    """

    backends: tuple[str, ...]
    model: str = ""
    max_sessions: int | None = None
    voice: Path | None = None
    profile: str | None = None

    @property
    def family(self) -> Literal["minicpm", "qwen3"]:
        """By the profile when it is given, else by the model's name; not Qwen: MiniCPM-o 4.5."""
        return "qwen3" if "qwen" in (self.profile or self.model).lower() else "minicpm"

    def checked(self) -> "RemoteOptions":
        """Raises ``EngineError`` when an origin is none."""
        if not self.backends:
            raise EngineError("engine_error", "The remote engine needs --ws-backend, such as ws://gpu-host:8099.", kind="server_error")
        for backend in self.backends:
            parts = urlsplit(backend)
            if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.query:
                raise EngineError(
                    "engine_error", f"--ws-backend {backend} is no ws:// or wss:// origin, such as ws://gpu-host:8099.", kind="server_error"
                )
        return self


class _Backend:
    """One server: how many of our calls are on it, and whether it answered when last looked at."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.calls = 0
        self.alive = False

    async def look(self, client: Any) -> None:
        """Ask for its health."""
        import httpx

        try:
            answer = await client.get(self.origin.replace("ws", "http", 1).rstrip("/") + "/health")
        except httpx.HTTPError:
            self.alive = False
        else:
            # A server that has no such page is there all the same.
            self.alive = answer.status_code < 500


class RemoteEngine:
    """The engine contract over somebody else's servers."""

    def __init__(self, options: RemoteOptions) -> None:
        self.options = options.checked()
        self._backends = [_Backend(origin) for origin in options.backends]
        self._health = Health(ready=False, stage="waiting to start")
        self._voice: Voice | None = None
        self._vad: VadModel | None = None
        self._watch: asyncio.Task[None] | None = None
        self.sessions: dict[str, OmniSession] = {}
        native = options.family == "minicpm"
        self._capabilities = Capabilities(
            name="remote",
            model=options.model or "MiniCPM-o 4.5",
            profile="minicpm-native" if native else "qwen3",
            turns=("model", "server_vad") if native else ("server_vad", "manual"),
            unit_ms=1_000 if native else None,
            sees=True,
            text_input=not native,
            transcribes_user=False,
            max_sessions=options.max_sessions or _DEFAULT_CALLS * len(options.backends),
            max_context_tokens=_CONTEXT if native else None,
            honest=_HONEST[options.family],
        )

    @property
    def capabilities(self) -> Capabilities:
        """Fixed."""
        return self._capabilities

    async def start(self) -> None:
        """Look for the servers. Raises ``EngineError`` (retryable) while none answers."""
        from omnitalk.engines.omni.engine import near_end_model

        self._health = Health(ready=False, stage="looking for the model's server")
        self._voice = await asyncio.to_thread(from_file, self.options.voice) if self.options.voice else await asyncio.to_thread(built_in)
        self._vad = await asyncio.to_thread(near_end_model)
        await self._look()
        if not self._health.ready:
            raise EngineError("backend_unavailable", self._health.problem or "", kind="server_error", retryable=True)
        self._watch = asyncio.create_task(self._keep_looking(), name="remote: watch")

    async def _look(self) -> None:
        import httpx

        async with httpx.AsyncClient(timeout=_LOOK_PATIENCE_S) as client:
            await asyncio.gather(*(backend.look(client) for backend in self._backends))
        alive = [backend.origin for backend in self._backends if backend.alive]
        details = {backend.origin: {"alive": backend.alive, "calls": backend.calls} for backend in self._backends}
        if alive:
            self._health = Health(ready=True, stage="ready", progress=1.0, details=details)
        else:
            names = ", ".join(backend.origin for backend in self._backends)
            self._health = Health(ready=False, stage="failed", problem=f"No model server answers ({names}).", details=details)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self._look()

    async def stop(self) -> None:
        """End every session. Idempotent."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        for session in list(self.sessions.values()):
            await session.close("server_shutdown")
        self._health = Health(ready=False, stage="stopped")

    def health(self) -> Health:
        """As the servers answered when last looked at, at most 5 s ago."""
        return self._health

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        """Open a conversation on the least busy server that takes it. Raises ``EngineError``."""
        if len(self.sessions) >= self._capabilities.max_sessions:
            most = self._capabilities.max_sessions
            raise EngineError("resource_exhausted", f"All {most} lines are busy.", kind="rate_limit_error", retryable=True)
        voice = self._voice
        if settings.ref_audio is not None and self.options.family == "minicpm":
            voice = await asyncio.to_thread(from_data_url, settings.ref_audio)
        session: OmniSession
        if self.options.family == "minicpm":
            assert voice is not None
            config = native_session(settings, voice.url, limit=_CONTEXT)
            handle, backend = await self._open(config)
            session = NativeSession(
                session_id,
                settings,
                Opened(handle, config, commands),
                vad=self._vad,
                on_close=self._release(backend),
                boundary=handle.boundary,
                limit=_CONTEXT,
                voice_s=voice.seconds if settings.speaks else 0.0,
                reopen=self._reopen,
            )
        else:
            config = turn_session(settings)
            handle, backend = await self._open(config)
            session = TurnSession(session_id, settings, Opened(handle, config, commands), vad=self._vad, on_close=self._release(backend))
        backend.calls += 1
        self.sessions[session_id] = session
        session.begin()
        return session

    async def _open(self, config: JsonObject) -> tuple[RemoteHandle, _Backend]:
        order = sorted(self._backends, key=lambda backend: (not backend.alive, backend.calls))
        refusal: EngineError | None = None
        for backend in order:
            try:
                return await open_handle(backend.origin, self.options.model, config), backend
            except EngineError as problem:
                if not problem.retryable:
                    raise
                log.warning("backend_refused", backend=backend.origin, code=problem.code)
                backend.alive = backend.alive and problem.code != "backend_unavailable"
                refusal = problem
        assert refusal is not None
        raise refusal

    async def _reopen(self, config: JsonObject) -> RemoteHandle:
        handle, _ = await self._open(config)
        return handle

    def _release(self, backend: _Backend) -> Callable[[OmniSession], None]:
        def closed(session: OmniSession) -> None:
            if self.sessions.pop(session.id, None) is not None:
                backend.calls -= 1

        return closed
