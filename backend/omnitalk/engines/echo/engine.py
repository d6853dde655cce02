"""The engine that opens echoes."""

from collections.abc import Callable

from omnitalk.engines.base import Capabilities, EngineError, Health
from omnitalk.protocol.session import SessionSettings

from .session import EchoSession

__all__ = ["EchoEngine"]


class _Counted(EchoSession):
    """Gives its place back when it ends."""

    def __init__(self, settings: SessionSettings, ended: Callable[[], object]) -> None:
        super().__init__(settings)
        self._ended = ended

    async def close(self, reason: str) -> None:
        """Ends the echo and frees its place."""
        await super().close(reason)
        self._ended()


class EchoEngine:
    """No model, no load. ``sessions``: those open now, by call id."""

    def __init__(self, max_sessions: int = 32) -> None:
        self._capabilities = Capabilities(
            name="echo",
            model="echo",
            profile="cascade",
            turns=("manual",),
            text_input=False,
            transcribes_user=False,
            max_sessions=max_sessions,
            honest="This engine says back what it hears. It is for measuring only: use headphones.",
        )
        self._running = False
        self.sessions: dict[str, EchoSession] = {}

    @property
    def capabilities(self) -> Capabilities:
        """Fixed."""
        return self._capabilities

    async def start(self) -> None:
        """Nothing to load."""
        self._running = True

    async def stop(self) -> None:
        """Ends every echo."""
        self._running = False
        for session in list(self.sessions.values()):
            await session.close("server_shutdown")
        self.sessions.clear()

    def health(self) -> Health:
        """Ready while running."""
        return Health(ready=self._running, stage="" if self._running else "stopped")

    async def open_session(self, session_id: str, settings: SessionSettings) -> EchoSession:
        """An echo. Raises ``EngineError(resource_exhausted)`` beyond ``max_sessions``."""
        if len(self.sessions) >= self._capabilities.max_sessions:
            raise EngineError("resource_exhausted", "No more echoes.", kind="rate_limit_error", retryable=True)
        session = self.sessions[session_id] = _Counted(settings, lambda: self.sessions.pop(session_id, None))
        return session
