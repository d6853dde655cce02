"""The embedded cascade as an ``Engine``: loads the stages once, then opens sessions on them."""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from omnitalk.engines.base import Capabilities, EngineError, EngineSession, Health
from omnitalk.engines.chat import ChatDelta, ChatRequest
from omnitalk.media.audio import Samples
from omnitalk.media.vad import FRAME, VadStream
from omnitalk.protocol.session import SessionSettings

from .aloud import Narrator
from .chat import answer
from .llm import LanguageModel
from .place import WorkPlace
from .session import CascadeSession
from .stages import Stages
from .tts import HibariVoice, Synthesiser

__all__ = ["CascadeEngine", "CascadeFiles"]

_HONEST = "A small English demo model on this server's CPU. It hears words, not tone; it can be wrong; it does not see."
_HONEST_REMOTE = "Speech is heard and spoken on this server's CPU, in English; the answers come from {model} at an endpoint of your choice."


_SEES = " It is shown what your camera shows when you finish speaking."
_BLIND = " It does not see."


def _honest(model: str, sees: bool) -> str:
    return _HONEST_REMOTE.format(model=model) + (_SEES if sees else _BLIND)


@dataclass(frozen=True)
class CascadeFiles:
    """Where the weights lie. ``whisper``: a CTranslate2 folder. ``llm`` None = an endpoint writes the replies."""

    vad: Path
    turn: Path
    whisper: Path
    llm: Path | None = None


def calm_threads() -> None:
    """Tell OpenMP not to spin between two jobs, which would starve a browser on the same two cores. Effective before the runtimes load."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")


class CascadeEngine:
    """``files`` is asked for when the engine starts (it may fetch). ``llm`` makes the language model from them."""

    def __init__(
        self,
        files: Callable[[], Awaitable[CascadeFiles]],
        llm: Callable[[CascadeFiles, int], LanguageModel],
        *,
        model: str,
        remote_llm: bool = False,
        sees: bool = False,
        max_sessions: int = 2,
        voice: Callable[[], Synthesiser] | None = None,
        threads: int = 2,
    ) -> None:
        self._files, self._make_llm = files, llm
        self._make_voice: Callable[[], Synthesiser] = voice or HibariVoice
        self._threads = threads
        self._stages: Stages | None = None
        self._sessions: set[CascadeSession] = set()
        self._place = WorkPlace(lambda: len(self._sessions))
        self._health = Health(ready=False, stage="not started")
        self._capabilities = Capabilities(
            name="cascade",
            model=model,
            profile="cascade",
            turns=("server_vad", "manual"),
            voices=HibariVoice.voices if voice is None else (),
            max_sessions=max_sessions,
            chat=True,
            speech=True,
            transcription=True,
            honest=_honest(model, sees) if remote_llm else _HONEST,
            sees=sees,
            wire={
                "implementation_level": "turn_based_duplex",
                "supports_client_commit": True,
                "supports_barge_in": True,
                "supports_playback_ack": True,
                "supports_audio_truncate": True,
                "supports_text_only_turn": True,
                "supports_image_input": False,
                "required_input_modalities": [],
                "optional_input_modalities": ["audio", "text", *(["video"] if sees else [])],
            },
        )

    @property
    def capabilities(self) -> Capabilities:
        """Fixed for the life of the engine."""
        return self._capabilities

    def health(self) -> Health:
        """Whether a call can be taken now, and what is being done while not."""
        return self._health

    async def start(self) -> None:
        """Load and warm up every stage. Raises ``EngineError`` with a sentence when it cannot."""
        if self._stages is not None:
            return
        begun = time.perf_counter()
        try:
            stages = await self._load()
        except (EngineError, OSError, ValueError, RuntimeError) as error:
            sentence = error.message if isinstance(error, EngineError) else f"The cascade cannot start: {error}"
            self._health = Health(ready=False, stage="failed", problem=sentence)
            raise error if isinstance(error, EngineError) else EngineError("engine_error", sentence, kind="server_error") from error
        except ImportError as error:
            sentence = f"The cascade needs the package {error.name}: run `pip install 'omnitalk[local]'`."
            self._health = Health(ready=False, stage="failed", problem=sentence)
            raise EngineError("engine_error", sentence, kind="server_error") from error
        self._stages = stages
        self._health = Health(ready=True, stage="ready", progress=1.0, details={"start_s": round(time.perf_counter() - begun, 2)})

    def _stage(self, name: str, progress: float) -> None:
        self._health = Health(ready=False, stage=name, progress=progress)

    async def _load(self) -> Stages:
        from omnitalk.media.vad import VadModel

        from .asr import SpeechRecogniser
        from .turn import TurnModel

        calm_threads()
        self._stage("looking for the models", 0.0)
        files = await self._files()
        self._stage("loading speech detection", 0.1)
        vad = await asyncio.to_thread(VadModel, files.vad)
        turn = await asyncio.to_thread(TurnModel, files.turn)
        self._stage("loading speech recognition", 0.2)
        asr = await asyncio.to_thread(lambda: SpeechRecogniser(files.whisper, threads=self._threads))
        self._stage("loading the voice", 0.4)
        tts = await asyncio.to_thread(self._make_voice)
        self._stage("loading the language model", 0.5)
        llm = self._make_llm(files, self._capabilities.max_sessions + 1)  # one place more: chat
        try:
            await llm.start()
        except BaseException:
            await llm.stop()
            raise
        stages = Stages(vad=vad, turn=turn, asr=asr, tts=tts, llm=llm)
        self._stage("warming up", 0.9)
        try:
            await self._warm_up(stages)
        except BaseException:
            await stages.stop()
            raise
        return stages

    @staticmethod
    async def _warm_up(stages: Stages) -> None:
        """One pass through every stage: the first inference allocates, and the first caller must not wait for that."""
        sound = await stages.say("warm-up", "Hello there.", 1.0, first=True)
        await stages.transcribe("warm-up", sound[: stages.tts.rate])
        await stages.turn_over("warm-up", np.zeros(FRAME, np.float32))
        await stages.vad_pool.run("warm-up", lambda: VadStream(stages.vad)(np.zeros(FRAME, np.float32)))

    async def stop(self) -> None:
        """End every session and free the models. Idempotent."""
        stages, self._stages = self._stages, None
        self._health = Health(ready=False, stage="stopped")
        for session in list(self._sessions):
            await session.close("server_shutdown")
        if stages is not None:
            await stages.stop()

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        """Open a conversation. Raises ``EngineError``: not ready, ``resource_exhausted``, or settings it cannot serve."""
        stages = self._stages
        if stages is None:
            raise EngineError("engine_error", f"The engine is not ready ({self._health.stage}).", kind="server_error", retryable=True)
        most = self._capabilities.max_sessions
        if len(self._sessions) >= most:
            raise EngineError("resource_exhausted", f"All {most} lines are busy.", kind="rate_limit_error", retryable=True)
        if settings.ref_audio is not None:
            raise EngineError("invalid_session_config", "This engine has a fixed voice and takes no ref_audio.", param="session.ref_audio")
        session = CascadeSession(session_id, settings, stages, stages.llm.seat(session_id), self._sessions.discard)
        self._sessions.add(session)
        if settings.voice is not None and settings.voice not in stages.tts.voices:
            session.notify("voice_unknown", f"There is no voice {settings.voice[:40]!r} here; you will hear {stages.tts.voices[0]!r}.")
        if settings.tools:
            session.notify("tools_unsupported", "This engine calls no tools; it answers in words.")
        session.begin()
        return session

    def check_room(self) -> None:
        """Raises ``EngineError``: not ready, ``resource_exhausted``."""
        self._ready_stages()
        self._place.check()

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """The answer as it is made, one chat at a time and none beside a call. Closing the generator stops the work."""
        async with self._work() as (stages, key), aclosing(answer(request, stages, key, lambda: bool(self._sessions))) as deltas:
            async for delta in deltas:
                yield delta

    async def speak(self, text: str, *, speed: float) -> AsyncGenerator[bytes, None]:
        """The text read aloud, a clause at a time; a call that begins ends it."""
        async with self._work() as (stages, key):
            narrator = Narrator(stages, key, speed)
            for clauses in (narrator.more(text), narrator.rest()):
                async with aclosing(clauses):
                    async for sound in clauses:
                        yield sound
                        self._place.check()

    async def transcribe(self, sound: Samples, *, language: str | None) -> str:
        """The words, in English."""
        if language not in (None, "en"):
            raise EngineError("unsupported_parameter", f"This engine hears English, not {language[:20]!r}.", param="language")
        async with self._work() as (stages, key):
            return (await stages.transcribe(key, sound)).transcript.text

    @asynccontextmanager
    async def _work(self) -> AsyncIterator[tuple[Stages, str]]:
        """The place for work outside calls, and a name for it. Raises ``EngineError``: not ready, ``resource_exhausted``."""
        async with self._place.taken():
            yield self._ready_stages(), f"work_{uuid.uuid4().hex}"

    def _ready_stages(self) -> Stages:
        if self._stages is None:
            doing = self._health.stage
            raise EngineError("engine_not_ready", f"The engine is not ready ({doing}).", kind="server_error", retryable=True)
        return self._stages
