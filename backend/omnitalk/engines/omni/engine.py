"""The engine: starts vLLM-Omni's pipeline inside this process, opens sessions on it, and knows whether it lives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import structlog

from omnitalk.engines.base import Capabilities, EngineError, EngineSession, Health
from omnitalk.engines.chat import ChatDelta, ChatRequest
from omnitalk.engines.duplex_wire import duplex_wire
from omnitalk.media.vad import VadModel
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.session import SessionSettings

from .boundary import Boundary
from .chat import ChatLine, OmniChat
from .checks import check
from .launch import build
from .native import NativeSession
from .options import OmniOptions, read_deploy
from .session import OmniSession, Opened
from .turns import TurnSession
from .voice import Voice, built_in, from_data_url, from_file
from .warmup import spoken_turn
from .wire import native_session, turn_session

__all__ = ["OmniEngine", "near_end_model"]

log = structlog.get_logger("omnitalk.omni")

_OPEN_S = 30.0
_WATCH_S = 1.0
_STOP_S = 60.0
_DEFAULT_CONTEXT = 40_960

_HONEST = {
    "minicpm": (
        "MiniCPM-o 4.5 listens, sees and speaks at once, in steps of one second. It decides by itself when to speak, does not write"
        " down what you say, and takes no typed text in a call."
    ),
    "qwen3": "Qwen3-Omni takes turns: it answers when you have finished, and stops when you talk over it.",
}


class OmniEngine:
    """MiniCPM-o 4.5 (native duplex) or Qwen3-Omni (turns), by the model's name. One event loop for its whole life."""

    def __init__(self, options: OmniOptions) -> None:
        self.options = options
        self._deploy = read_deploy(options)
        self._omni: Any = None
        self._chat: OmniChat | None = None
        self._boundary: Boundary | None = None
        self._vad: VadModel | None = None
        self._voice: Voice | None = None
        self._health = Health(ready=False, stage="waiting to start")
        self._watch: asyncio.Task[None] | None = None
        self._limit = self._deploy.max_model_len or _DEFAULT_CONTEXT
        self._stopping = False
        self._totals: dict[str, float] = {}
        self.sessions: dict[str, OmniSession] = {}
        self._capabilities = self._describe()

    def _describe(self) -> Capabilities:
        native = self.options.family == "minicpm"
        return Capabilities(
            name="omni",
            model=self.options.model,
            profile="minicpm-native" if native else "qwen3",
            turns=("model", "server_vad") if native else ("server_vad", "manual"),
            unit_ms=1_000 if native else None,
            sees=True,
            text_input=not native,
            transcribes_user=False,
            max_sessions=self._deploy.max_sessions,
            max_context_tokens=self._limit,
            chat=True,
            honest=_HONEST[self.options.family],
            wire=duplex_wire(native=native, sees=True),
        )

    # -- Engine -------------------------------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """Read from the deploy file and the model's name; fixed."""
        return self._capabilities

    async def start(self) -> None:
        """Load, warm up with a spoken turn, then be ready. Raises ``EngineError`` with one sentence when it cannot."""
        self._stopping = False
        try:
            self._told("looking for a GPU", 0.0)
            await asyncio.to_thread(check, self.options)
            self._voice = (
                await asyncio.to_thread(from_file, self.options.voice) if self.options.voice else await asyncio.to_thread(built_in)
            )
            self._vad = await asyncio.to_thread(near_end_model)
            self._omni = await asyncio.to_thread(build, self.options, self._deploy.file, self._told, self._deploy.stages)
            self._boundary = Boundary.install()
            self._limit = int(getattr(self._omni.model_config, "max_model_len", self._limit) or self._limit)
            line = ChatLine(self._capabilities.max_sessions, lambda: len(self.sessions))
            self._chat = OmniChat(self._omni, self.options.model, line)
            if self.options.warm_up:
                self._told("warming up with a spoken turn", 0.9)
                spoke = await spoken_turn(self._omni, self._config_for(SessionSettings()))
                log.info("warmed_up", spoke=spoke)
        except EngineError as problem:
            self._health = Health(ready=False, stage="failed", problem=problem.message)
            await self._shut_down()
            raise
        except asyncio.CancelledError:
            await self._shut_down()
            raise
        except Exception as problem:
            message = f"The model started but did not answer its first turn: {problem}"
            self._health = Health(ready=False, stage="failed", problem=message)
            await self._shut_down()
            raise EngineError("engine_error", message, kind="server_error") from problem
        self._watch = asyncio.create_task(self._watch_stages(), name="omni: watchdog")
        self._health = Health(ready=True, stage="ready", progress=1.0)

    def _told(self, stage: str, progress: float) -> None:
        if stage != self._health.stage:
            log.info("engine_starting", doing=stage, progress=round(progress, 2))
        self._health = Health(ready=False, stage=stage, progress=progress)

    async def stop(self) -> None:
        """End every session and every stage process. Idempotent."""
        self._stopping = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        for session in list(self.sessions.values()):
            await session.close("server_shutdown")
        await self._shut_down()
        if self._health.stage != "failed":
            self._health = Health(ready=False, stage="stopped")

    async def _shut_down(self) -> None:
        omni, self._omni, self._chat = self._omni, None, None
        if omni is None:
            return
        try:
            async with asyncio.timeout(_STOP_S):
                await asyncio.to_thread(omni.shutdown)
        except TimeoutError:
            log.error("stages_do_not_stop", seconds=_STOP_S)
        for process in _children():
            # Whatever outlived the engine's own shutdown would hold the GPU's memory for ever.
            with contextlib.suppress(Exception):
                process.kill()

    def health(self) -> Health:
        """What it is doing; ``problem`` once a stage has died; the figures of all sessions so far in ``details``."""
        if not self._health.ready:
            return self._health
        figures = dict(self._totals)
        for session in self.sessions.values():
            figures = _sum(figures, session.figures())
        if self._chat is not None:
            figures.update(self._chat.line.figures)
        return msgspec.structs.replace(self._health, details=figures)

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        """Open a conversation. Raises ``EngineError``: not ready, ``resource_exhausted``, or settings the model does not take."""
        if not self._health.ready or self._omni is None:
            doing = self._health.problem or self._health.stage
            raise EngineError("engine_error", f"The engine is not ready ({doing}).", kind="server_error", retryable=True)
        if len(self.sessions) >= self._capabilities.max_sessions:
            most = self._capabilities.max_sessions
            raise EngineError("resource_exhausted", f"All {most} lines are busy.", kind="rate_limit_error", retryable=True)
        voice = self._voice
        if settings.ref_audio is not None and self.options.family == "minicpm":
            voice = await asyncio.to_thread(from_data_url, settings.ref_audio)
        config = self._config_for(settings, voice)
        from vllm_omni.engine.duplex import commands

        opened = Opened(await self._open(config), config, commands)
        session: OmniSession
        if self.options.family == "minicpm":
            assert self._boundary is not None and voice is not None
            session = NativeSession(
                session_id,
                settings,
                opened,
                vad=self._vad,
                on_close=self._closed,
                boundary=self._boundary,
                limit=self._limit,
                voice_s=voice.seconds if settings.speaks else 0.0,
                reopen=self._open,
            )
        else:
            session = TurnSession(session_id, settings, opened, vad=self._vad, on_close=self._closed)
        self.sessions[session_id] = session
        session.begin()
        return session

    def _config_for(self, settings: SessionSettings, voice: Voice | None = None) -> JsonObject:
        if self.options.family == "qwen3":
            return turn_session(settings)
        chosen = voice or self._voice
        return native_session(settings, chosen.url if chosen is not None else "", limit=self._limit)

    def check_room(self) -> None:
        """Raises ``EngineError``: not ready, or too many chats wait."""
        self._chats().line.check()

    def _chats(self) -> OmniChat:
        if not self._health.ready or self._chat is None:
            doing = self._health.problem or self._health.stage
            raise EngineError("engine_not_ready", f"The engine is not ready ({doing}).", kind="server_error", retryable=True)
        return self._chat

    async def chat(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """One answer to a list of messages, on the weights that hold the calls; calls come first. See ``ChatEngine``."""
        answer = self._chats().answer(request)
        try:
            async for delta in answer:
                yield delta
        finally:
            await answer.aclose()

    async def _open(self, config: JsonObject) -> Any:
        from vllm_omni.engine.duplex.messages import DuplexSessionError

        try:
            return await self._omni.open_session(config, timeout=_OPEN_S)
        except DuplexSessionError as problem:
            raise _refusal(problem) from problem
        except (ValueError, TypeError) as problem:
            raise EngineError("invalid_session_config", f"The model does not take these settings: {problem}") from problem

    def _closed(self, session: OmniSession) -> None:
        if self.sessions.pop(session.id, None) is not None:
            self._totals = _sum(self._totals, session.figures())
        if self._chat is not None:
            self._chat.line.moved()

    # -- is it alive? -------------------------------------------------------------------------------------------------

    async def _watch_stages(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            try:
                await self._omni.check_health()
            except Exception as problem:
                self._died(problem)
                return

    def _died(self, problem: BaseException) -> None:
        message = f"A part of the model has stopped: {problem}. Start the server again."
        log.error("stage_died", problem=str(problem))
        self._health = Health(ready=False, stage="failed", problem=message)
        for session in list(self.sessions.values()):
            session.fail("engine_dead", message)


def _sum(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _refusal(problem: Any) -> EngineError:
    code = str(getattr(problem, "code", "engine_error"))
    retryable = bool(getattr(problem, "retryable", False))
    if code == "resource_exhausted":
        return EngineError(code, "All lines of the model are busy.", kind="rate_limit_error", retryable=True)
    kind = (
        "server_error"
        if code in ("timeout", "engine_error", "engine_dead", "engine_backpressure", "internal_error")
        else "invalid_request_error"
    )
    return EngineError(code, str(problem), kind=kind, retryable=retryable)


def near_end_model() -> VadModel | None:
    """The call's own voice-activity gate; None when its weights are not here, and loudness must do."""
    from omnitalk.models import MissingModel, path

    try:
        return VadModel(path("vad") / "model.onnx")
    except (MissingModel, ImportError) as problem:
        log.warning("no_voice_activity_model", problem=str(problem), instead="loudness")
        return None


def _children() -> list[Any]:
    """Stage processes of ours that still live. vLLM names them all alike."""
    import psutil

    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "StageEngineCoreProc" in child.name() or any("StageEngineCoreProc" in word for word in child.cmdline()):
                found.append(child)
    return found
