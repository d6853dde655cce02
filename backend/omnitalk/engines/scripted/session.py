"""What every scripted session does alike: its events, its items, its tasks, and the end of a reply that is cut."""

import abc
import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from omnitalk.engines.base import Command, EngineError, EngineEvent, EngineFailed, Interrupt, PlaybackProgress
from omnitalk.engines.cascade.options import ReplyOptions
from omnitalk.engines.cascade.outbox import Outbox
from omnitalk.engines.conversation import Conversation, new_id, user_item
from omnitalk.engines.items import Items
from omnitalk.engines.turns import ResponseWriter
from omnitalk.protocol import client
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import SessionSettings
from omnitalk.protocol.settings import apply

from .hearing import LevelEar
from .script import Reply, Script, Sleep, frequency_of
from .tone import ToneVoice

__all__ = ["ScriptedSession"]

_MAX_FINISHED = 32


class ScriptedSession(abc.ABC):
    """Subclasses say what sound does (``_append``, ``_commit``) and how a reply is paced (``_speak``)."""

    def __init__(
        self, session_id: str, settings: SessionSettings, script: Script, sleep: Sleep, on_close: Callable[["ScriptedSession"], None]
    ) -> None:
        self.id = session_id
        self._settings, self._script, self._sleep, self._on_close = settings, script, sleep, on_close
        self._outbox = Outbox()
        self._conversation = Conversation()
        self._ear = LevelEar()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writer: ResponseWriter | None = None
        self._reply_task: asyncio.Task[None] | None = None
        self._finished: OrderedDict[str, str] = OrderedDict()
        self._sounding: str | None = None
        self._replies = self._turns = 0
        self._held = False
        self._closed = False
        stop = lambda heard_ms: self._stop("client_cancelled", heard_ms)  # noqa: E731
        self._items = Items(self._conversation, self._outbox.emit, self._writing, stop)
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
            client.OmnitalkHold: self._hold,
            Interrupt: self._interrupt,
            PlaybackProgress: self._progress,
        }

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
        """Events in order; ends after ``close``. One consumer."""
        return self._outbox.events()

    async def close(self, reason: str) -> None:
        """End the session and free what it holds. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._writer is not None:
            self._stop(reason, self._writer.audio_ms)
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._outbox.close()
        self._on_close(self)

    def fail(self, code: str, message: str) -> None:
        """Break down, as a crashed model does. For tests."""
        self._outbox.emit(EngineFailed(code=code, message=message))
        self._outbox.close()

    # -- what subclasses say ------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin(self) -> None:
        """Called once, when the session is open."""

    @abc.abstractmethod
    def _append(self, command: client.InputAudioBufferAppend) -> None:
        """Sound came."""

    @abc.abstractmethod
    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        """The client ended its turn."""

    @abc.abstractmethod
    def _clear(self, command: client.InputAudioBufferClear) -> None:
        """The client forgot its uncommitted sound."""

    @abc.abstractmethod
    def _create_response(self, command: client.ResponseCreate) -> None:
        """The client asks for a reply."""

    @abc.abstractmethod
    def _create_item(self, command: client.ConversationItemCreate) -> None:
        """The client adds an item."""

    def _interrupted(self, command: Interrupt) -> None:  # noqa: B027 - most have nothing to do then
        """The person has the floor."""

    @abc.abstractmethod
    async def _speak(self, writer: ResponseWriter, voice: ToneVoice, reply: Reply) -> None:
        """Pace a reply."""

    # -- replies ------------------------------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        return self._sounding is not None or self._writer is not None

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=f"{self.id}: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None and not self._closed:
            self.fail("internal_error", f"The script cannot go on: {problem!r}")

    def _start_reply(self, options: ReplyOptions, asked: str) -> None:
        wire = self._settings.output_format
        writer = ResponseWriter(
            self._outbox.emit,
            response_id=new_id("resp"),
            item_id=new_id("item"),
            conversation=self._conversation if options.in_conversation else None,
            speaks=options.speaks,
            encoding=wire.encoding,
            rate=wire.rate,
            metadata=options.metadata,
        )
        index, self._replies = self._replies, self._replies + 1
        reply = self._script.reply(index, asked)
        self._writer = writer
        writer.begin()
        voice = ToneVoice(reply, reply.hz or frequency_of(index), wire)
        self._reply_task = self._spawn(self._run_reply(writer, voice, reply, options.speaks), "reply")

    async def _run_reply(self, writer: ResponseWriter, voice: ToneVoice, reply: Reply, speaks: bool) -> None:
        if speaks:
            await self._speak(writer, voice, reply)
        else:
            for number, word in enumerate(reply.words.split()):
                writer.text(word if number == 0 else f" {word}")
                await self._sleep(0.0)
        if self._writer is writer:
            self._finish(writer)

    def _finish(self, writer: ResponseWriter) -> None:
        self._writer = self._reply_task = None
        writer.finish(usage={"total_tokens": 0, "input_tokens": 0, "output_tokens": 0})
        self._remember(writer)

    def _stop(self, reason: str, heard_ms: float) -> None:
        writer, task = self._writer, self._reply_task
        assert writer is not None and task is not None
        self._writer = self._reply_task = None
        if task is not asyncio.current_task():
            task.cancel()
        self._outbox.drop_deltas(writer.response_id)
        writer.cut(heard_ms)
        writer.finish("cancelled", reason=reason)
        self._remember(writer)

    def _remember(self, writer: ResponseWriter) -> None:
        self._finished[writer.response_id] = writer.item_id
        while len(self._finished) > _MAX_FINISHED:
            self._finished.popitem(last=False)

    # -- items --------------------------------------------------------------------------------------------------------

    def _add_spoken_turn(self, item_id: str, transcript: str | None) -> None:
        """The commit sequence of a spoken turn; ``transcript`` None: this model does not write down what it hears."""
        item = user_item(item_id, {"type": "input_audio", "transcript": transcript})
        self._items.add(item, committed=True, transcript=transcript if self._settings.transcribe else None)

    def _writing(self) -> str | None:
        return None if self._writer is None else self._writer.item_id

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _update(self, command: client.SessionUpdate) -> None:
        try:
            self._settings = apply(self._settings, command.session)
        except ProtocolError as problem:
            raise EngineError(problem.code, problem.message, param=problem.param) from problem

    def _hold(self, command: client.OmnitalkHold) -> None:
        self._held = command.held

    def _interrupt(self, command: Interrupt) -> None:
        if self._writer is not None and self._writer.response_id == command.response_id:
            self._stop(command.reason, command.heard_ms)
        elif command.response_id in self._finished:
            item_id = self._finished[command.response_id]
            if item_id in self._conversation:
                self._conversation.truncate(item_id, command.heard_ms)
        else:
            raise EngineError("response_not_active", f"There is no response {command.response_id} to interrupt.", param="response_id")
        if self._sounding == command.response_id:
            self._sounding = None
        self._interrupted(command)

    def _progress(self, command: PlaybackProgress) -> None:
        if command.sounding:
            self._sounding = command.response_id
        elif self._sounding == command.response_id:
            self._sounding = None
