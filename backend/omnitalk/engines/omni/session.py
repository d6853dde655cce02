"""What every session on vLLM-Omni does alike: commands in through a bounded lane, events out through a bounded outbox, and its end."""

import abc
import asyncio
import base64
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

import structlog

from omnitalk.engines.base import Command, EngineError, EngineEvent, EngineFailed, Interrupt, PlaybackProgress
from omnitalk.engines.cascade.outbox import Outbox
from omnitalk.engines.conversation import Conversation, new_id, user_item, validate_item
from omnitalk.engines.items import Items
from omnitalk.media.vad import VadModel
from omnitalk.protocol import client, server
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.errors import ProtocolError, error_event
from omnitalk.protocol.session import SessionSettings
from omnitalk.protocol.settings import apply

from .intake import Intake
from .lane import CommandLane
from .reply import Reply
from .wire import check_numbers

__all__ = ["OmniSession", "Opened", "passed_on", "response_id_of"]

log = structlog.get_logger("omnitalk.omni")

_HEARTBEAT_S = 60.0
"""vLLM-Omni ends a session that is idle for 300 s; a call on hold is idle but not over."""

_CLOSE_S = 5.0
_MAX_FINISHED = 32

_HARMLESS = frozenset(
    {
        # A person who speaks again while the last sound of a reply is being acknowledged: nothing is lost by it.
        "playback_ack_too_late",
        "playback_item_not_found",
        "playback_item_mismatch",
        # The reply ended on its own while it was being cancelled.
        "response_not_active",
    }
)


class Opened(NamedTuple):
    """A session of the engine's: its ``handle`` (``DuplexSessionHandle``, or what stands for one elsewhere), how it was opened, and
    the module whose classes are its ``commands``.
    """

    handle: Any
    config: JsonObject
    commands: Any


class OmniSession(abc.ABC):
    """Subclasses say what sound, commits and interruptions mean to their model."""

    def __init__(
        self,
        session_id: str,
        settings: SessionSettings,
        opened: Opened,
        *,
        vad: VadModel | None,
        on_close: Callable[["OmniSession"], None],
    ) -> None:
        self.id = session_id
        self._settings, self._on_close = settings, on_close
        self._handle = opened.handle
        self._config = opened.config
        self._commands = opened.commands
        self._outbox = Outbox()
        self._lane = CommandLane()
        self._intake = Intake(vad)
        self._conversation = Conversation()
        self._reply: Reply | None = None
        self._finished: OrderedDict[str, Reply] = OrderedDict()
        self._dead: OrderedDict[str, None] = OrderedDict()
        self._held = False
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._items = Items(self._conversation, self._outbox.emit, self._writing, self._stop_writing)
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            client.SessionUpdate: self._update,
            client.InputAudioBufferAppend: self._append,
            client.InputAudioBufferCommit: self._commit,
            client.InputAudioBufferClear: self._clear,
            client.ResponseCreate: self._create_response,
            client.ConversationItemCreate: self._create_item,
            client.ConversationItemRetrieve: self._items.retrieve,
            client.ConversationItemDelete: self._items.delete,
            client.ConversationItemTruncate: self._items.truncate,
            client.TurnSignal: self._signal,
            client.InputTextAppend: self._append_text,
            client.OmnitalkHold: self._hold,
            Interrupt: self._interrupt,
            PlaybackProgress: self._progress,
        }

    def begin(self) -> None:
        """Called once, on the event loop, when the session is open."""
        self._spawn(self._pump(), "commands")
        self._spawn(self._listen_to(self._handle), "events")
        self._spawn(self._keep_alive(), "heartbeat")

    # -- EngineSession ------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> SessionSettings:
        """The settings in force."""
        return self._settings

    async def submit(self, command: Command) -> None:
        """Hand a command over. Raises ``EngineError`` when it is refused; never waits."""
        if self._closed:
            raise EngineError("session_closed", "This session has ended.")
        handler = self._handlers.get(type(command))
        if handler is not None:
            handler(command)

    def events(self) -> AsyncIterator[EngineEvent]:
        """Events in order; ends after ``close`` or a failure. One consumer."""
        return self._outbox.events()

    async def close(self, reason: str) -> None:
        """End the session and free its seat in the engine. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._reply is not None:
            self._end_reply(self._reply, "cancelled", reason=reason)
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._leave(self._handle, reason)
        self._outbox.close()
        self._on_close(self)

    async def _leave(self, handle: Any, reason: str) -> None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await handle.close(reason=reason)
        except TimeoutError:
            log.error("engine_session_does_not_close", session=self.id)
        except Exception as problem:
            # The engine may be gone already; then there is no seat to free.
            log.info("engine_session_gone", session=self.id, problem=str(problem))

    def fail(self, code: str, message: str) -> None:
        """The model cannot go on with this session."""
        if self._reply is not None:
            self._end_reply(self._reply, "failed", reason=code)
        self._outbox.emit(EngineFailed(code=code, message=message))
        self._outbox.close()

    def figures(self) -> dict[str, float]:
        """What was given up or done over again, for ``/metrics``."""
        return {"sound_dropped_ms": self._lane.dropped_ms, "frames_replaced": float(self._intake.frames_replaced)}

    # -- what subclasses say ------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _append(self, command: client.InputAudioBufferAppend) -> None:
        """Sound came."""

    @abc.abstractmethod
    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        """The client ended its turn."""

    @abc.abstractmethod
    def _create_response(self, command: client.ResponseCreate) -> None:
        """The client asks for a reply."""

    @abc.abstractmethod
    def _create_item(self, command: client.ConversationItemCreate) -> None:
        """The client adds an item."""

    @abc.abstractmethod
    def _append_text(self, command: client.InputTextAppend) -> None:
        """The client types into a live turn."""

    @abc.abstractmethod
    def _stop_model(self, command: Interrupt, reply: Reply | None) -> None:
        """Make the model stop; ``reply`` None: it had finished, only its sound was left."""

    def _patch(self, command: client.SessionUpdate) -> JsonObject:
        """What the engine must be told of a change of settings. Raises ``EngineError`` for what cannot change."""
        session = command.session
        told: JsonObject = {}
        if isinstance(session.temperature, float | int):
            told["temperature"] = float(session.temperature)
        return told

    def _committed(self, item_id: str) -> None:
        """The engine took a turn of the person's."""
        self._items.add(user_item(item_id, {"type": "input_audio", "transcript": None}), committed=True)

    def _listened(self, event: Any) -> None:  # noqa: B027 - not every model says so
        """The model decided to listen."""

    def _measured(self, reply: Reply, metadata: JsonObject) -> None:  # noqa: B027 - only a gauge cares
        """What the engine says about a piece of sound."""

    def _said(self, words: str) -> None:  # noqa: B027 - only a gauge cares
        """The model said these words."""

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=f"{self.id}: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None and not self._closed:
            log.error("omni_session_failed", session=self.id, task=task.get_name(), problem=repr(problem))
            code = getattr(problem, "code", "engine_error")
            self.fail(code if isinstance(code, str) else "engine_error", f"The model's session broke: {problem}")

    async def _pump(self) -> None:
        while True:
            await self._handle.submit(await self._lane.get())

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            self._lane.put(self._commands.Heartbeat())

    async def _listen_to(self, handle: Any) -> None:
        async for event in handle.events():
            if handle is not self._handle:
                return
            # Never paused: vLLM-Omni's own queue behind this one has no bound, ours has.
            self._engine_event(event)

    # -- the engine's events ------------------------------------------------------------------------------------------

    def _engine_event(self, event: Any) -> None:
        match event.type:
            case "response.created":
                self._begin_reply(event)
            case "response.listen":
                self._listened(event)
            case "input_audio_buffer.committed":
                self._committed(event.item_id)
            case "input_audio_buffer.cleared":
                self._outbox.emit(server.InputAudioBufferCleared())
            case "error":
                self._engine_error(event.code, event.message)
            case "session.closed" | "session.expired":
                self._engine_closed(event.reason)
            case _:
                self._response_event(event)

    def _response_event(self, event: Any) -> None:
        response_id = response_id_of(event)
        if event.type == "response.done" and response_id in self._dead:
            self._dead.pop(response_id)
            return
        reply = self._reply
        if reply is None or response_id != reply.engine_id:
            return
        match event.type:
            case "response.speak":
                reply.writer.speak({"model_speak": True})
            case "response.output_audio.delta" if self._settings.speaks:
                metadata = dict(event.metadata or {})
                self._measured(reply, metadata)
                reply.sound(base64.b64decode(event.delta), metadata)
            case "response.output_audio_transcript.delta" if self._settings.speaks:
                reply.words(event.delta)
                self._said(event.delta)
            case "response.output_text.delta" | "response.output_audio_transcript.delta" if event.delta:
                # A text-only session of this engine still calls its words a transcript.
                reply.writer.text(event.delta)
                self._said(event.delta)
            case "response.done":
                status = str(event.response.get("status") or "completed")
                details = event.response.get("status_details") or {}
                reason = str(details.get("reason")) if isinstance(details, dict) and details.get("reason") else None
                self._end_reply(reply, status, reason=reason)
            case _:
                pass

    def _engine_error(self, code: str, message: str) -> None:
        if code in _HARMLESS:
            return
        if code == "input_backpressure":
            self._outbox.emit(server.OmnitalkNotice(level="warning", code=code, message="The model is behind; some sound was not heard."))
            return
        if "context_length_exceeded" in message or code == "context_length_exceeded":
            # The engine goes on with an empty memory and does not say so. Better an end than a partner that has forgotten everything.
            self.fail("context_length_exceeded", "The model's context is full: this call is over. Please call again.")
            return
        self._outbox.emit(error_event(code, message))

    def _engine_closed(self, reason: str) -> None:
        if self._closed:
            return
        self.fail(reason, f"The model ended the session ({reason}).")

    # -- replies ------------------------------------------------------------------------------------------------------

    def _begin_reply(self, event: Any) -> None:
        engine_id = response_id_of(event)
        if self._reply is not None:
            # One response at a time on the wire: the engine has gone on, so the old one is over.
            self._end_reply(self._reply, "completed")
        self._reply = Reply(engine_id, self._settings, self._conversation, self._outbox.emit, self._metadata_of(event))
        self._reply.writer.begin()

    def _metadata_of(self, event: Any) -> JsonObject | None:
        metadata = event.response.get("metadata") if isinstance(getattr(event, "response", None), dict) else None
        if not isinstance(metadata, dict):
            return None
        return {name: value for name, value in metadata.items() if name != "vllm_omni" and isinstance(value, str)} or None

    def _end_reply(self, reply: Reply, status: str, *, reason: str | None = None, heard_ms: float | None = None) -> None:
        self._reply = None
        if status != "completed":
            self._outbox.drop_deltas(reply.id)
        reply.end(status, reason=reason, heard_ms=heard_ms)
        if reply.times:
            self._outbox.emit(server.OmnitalkStats(scope="turn", response_id=reply.id, stats=dict(reply.times)))
        self._finished[reply.id] = reply
        while len(self._finished) > _MAX_FINISHED:
            self._finished.popitem(last=False)

    def _kill(self, engine_id: str) -> None:
        """Nothing more of the engine's response is passed on."""
        self._dead[engine_id] = None
        while len(self._dead) > _MAX_FINISHED:
            self._dead.popitem(last=False)

    def _interrupt(self, command: Interrupt) -> None:
        reply = self._reply
        if reply is not None and reply.id == command.response_id:
            self._kill(reply.engine_id)
            self._end_reply(reply, "cancelled", reason=command.reason, heard_ms=command.heard_ms)
            self._stop_model(command, reply)
        elif command.response_id in self._finished:
            finished = self._finished[command.response_id]
            if finished.writer.item_id in self._conversation:
                self._conversation.truncate(finished.writer.item_id, command.heard_ms)
            self._stop_model(command, None)
        else:
            raise EngineError("response_not_active", f"There is no response {command.response_id} to interrupt.", param="response_id")

    def _progress(self, command: PlaybackProgress) -> None:
        reply = (
            self._reply if self._reply is not None and self._reply.id == command.response_id else self._finished.get(command.response_id)
        )
        if reply is None or reply.engine_id in self._dead or reply.cut or not reply.progressed(command.committed_ms):
            return
        self._lane.put(
            self._commands.AckPlayback(
                played_ms=int(command.played_ms),
                committed_ms=int(command.committed_ms),
                response_id=reply.engine_id,
                item_id=f"item_{reply.engine_id}",
            )
        )

    # -- items --------------------------------------------------------------------------------------------------------

    def _writing(self) -> str | None:
        return None if self._reply is None else self._reply.writer.item_id

    def _stop_writing(self, heard_ms: float) -> None:
        assert self._reply is not None
        self._interrupt(Interrupt(response_id=self._reply.id, heard_ms=heard_ms, reason="client_cancelled"))

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _update(self, command: client.SessionUpdate) -> None:
        told = self._patch(command)
        try:
            settings = apply(self._settings, command.session)
        except ProtocolError as problem:
            raise EngineError(problem.code, problem.message, param=problem.param) from problem
        check_numbers(settings)
        self._settings = settings
        if told:
            self._lane.put(self._commands.UpdateSession(patch=told))

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        self._lane.forget_sound()
        self._intake.restart()
        self._lane.put(self._commands.ClearInput())

    def _signal(self, command: client.TurnSignal) -> None:
        self._lane.put(self._commands.SignalTurn(event=command.event, signal_payload=dict(command.payload or {})))

    def _hold(self, command: client.OmnitalkHold) -> None:
        self._held = command.held

    def _checked_item(self, command: client.ConversationItemCreate, *, images: bool) -> JsonObject:
        item = validate_item(command.item, images=images)
        item.setdefault("id", new_id("item"))
        return item


_PASSED_ON = (
    "conversation",
    "metadata",
    "modalities",
    "output_modalities",
    "instructions",
    "temperature",
    "max_output_tokens",
    "tools",
    "tool_choice",
)


def passed_on(options: JsonObject) -> JsonObject:
    """What of ``response.create`` the engine is told; formats and the like are this side's business."""
    return {name: options[name] for name in _PASSED_ON if options.get(name) is not None}


def response_id_of(event: Any) -> str:
    """The response that one of the engine's events is about, empty when it is about none."""
    found = event.response_id
    if not isinstance(found, str):
        response = getattr(event, "response", None)
        found = response.get("id") if isinstance(response, dict) else None
    return found if isinstance(found, str) else ""
