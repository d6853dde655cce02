"""The engine that opens scripted sessions."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal

from omnitalk.engines.base import Capabilities, EngineError, EngineSession, Health
from omnitalk.engines.chat import ChatDelta, ChatRequest
from omnitalk.engines.duplex_wire import duplex_wire
from omnitalk.media.audio import Samples
from omnitalk.protocol.session import SessionSettings

from .chat import answer, tones
from .native_session import NativeSession, check_native
from .qwen3_session import Qwen3Session, check_qwen3
from .script import Script, Sleep
from .session import ScriptedSession
from .turn_session import TurnSession

__all__ = ["Mode", "ScriptedEngine"]

Mode = Literal["turn", "minicpm", "qwen3"]

_HONEST = "This is a test engine: it understands nothing and answers every turn with a tone."


def _capabilities(mode: Mode, max_sessions: int) -> Capabilities:
    native, sees = mode == "minicpm", mode != "turn"
    return Capabilities(
        name="scripted",
        model=f"scripted-{mode}",
        profile={"turn": "cascade", "minicpm": "minicpm-native", "qwen3": "qwen3"}[mode],
        turns=("model",) if native else ("server_vad", "manual"),
        unit_ms=1_000 if native else None,
        sees=sees,
        text_input=not native,
        transcribes_user=not native,
        needs_reference_voice=native,
        max_sessions=max_sessions,
        chat=True,
        speech=True,
        transcription=True,
        honest=_HONEST,
        wire=duplex_wire(native=native, sees=sees),
    )


class ScriptedEngine:
    """``script`` is every session's; ``sleep`` is all it knows of time.

    ``loading``: seconds that ``start`` takes, to show what a page says meanwhile. ``problem``: a sentence; then it cannot start.
    """

    def __init__(
        self,
        mode: Mode = "turn",
        *,
        script: Script | None = None,
        max_sessions: int = 4,
        sleep: Sleep = asyncio.sleep,
        loading: float = 0.0,
        problem: str | None = None,
    ) -> None:
        self.mode, self.script = mode, script or Script()
        self._capabilities = _capabilities(mode, max_sessions)
        self._sleep, self._loading, self._problem = sleep, loading, problem
        self.sessions: dict[str, ScriptedSession] = {}
        self.chats: list[ChatRequest] = []
        self.chatting = 0
        self._health = Health(ready=False, stage="waiting to start")

    @property
    def capabilities(self) -> Capabilities:
        """What the mode can do."""
        return self._capabilities

    async def start(self) -> None:
        """Takes as long as it was told to. Raises ``EngineError`` when it was told to fail."""
        self._health = Health(ready=False, stage="loading the script", progress=0.0)
        await self._sleep(self._loading)
        if self._problem is not None:
            self._health = Health(ready=False, stage="failed", problem=self._problem)
            raise EngineError("engine_error", self._problem, kind="server_error")
        self._health = Health(ready=True, stage="ready", progress=1.0)

    async def stop(self) -> None:
        """Ends every session. Idempotent."""
        self._health = Health(ready=False, stage="stopped")
        for session in list(self.sessions.values()):
            await session.close("server_shutdown")

    def health(self) -> Health:
        """As ``start`` and ``stop`` left it."""
        return self._health

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        """Open a conversation. Raises ``EngineError``: not ready, ``resource_exhausted``, or settings that the mode does not take."""
        if not self._health.ready:
            raise EngineError("engine_error", f"The engine is not ready ({self._health.stage}).", kind="server_error", retryable=True)
        if len(self.sessions) >= self._capabilities.max_sessions:
            most = self._capabilities.max_sessions
            raise EngineError("resource_exhausted", f"All {most} lines are busy.", kind="rate_limit_error", retryable=True)
        kind: type[NativeSession] | type[TurnSession] = TurnSession
        if self.mode == "minicpm":
            check_native(settings)
            kind = NativeSession
        elif self.mode == "qwen3":
            check_qwen3(settings)
            kind = Qwen3Session
        session = kind(session_id, settings, self.script, self._sleep, self._closed)
        self.sessions[session_id] = session
        session.begin()
        return session

    def check_room(self) -> None:
        """Raises ``EngineError`` when it is not ready."""
        if not self._health.ready:
            raise EngineError("engine_not_ready", f"The engine is not ready ({self._health.stage}).", kind="server_error", retryable=True)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Says what it was sent. ``chats`` keeps the requests, ``chatting`` those being answered. Raises ``EngineError``: not ready."""
        self.check_room()
        self.chats.append(request)
        self.chatting += 1
        try:
            async with aclosing(answer(request, len(self.chats) - 1, self.script, self._sleep)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self.chatting -= 1

    async def speak(self, text: str, *, speed: float) -> AsyncGenerator[bytes, None]:
        """A tone, 200 ms a word."""
        for word in tones(text, speed):
            await self._sleep(0)
            yield word

    async def transcribe(self, sound: Samples, *, language: str | None) -> str:
        """How long it was; more it cannot tell."""
        return f"A sound of {sound.size / 16_000:.1f} seconds."

    def _closed(self, session: ScriptedSession) -> None:
        self.sessions.pop(session.id, None)
