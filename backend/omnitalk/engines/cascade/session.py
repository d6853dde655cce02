"""One call answered by the cascade: commands in, events out, and a conversation between them.

Everything here runs on the event loop and waits for nothing but the stages' threads. ``Listener`` finds turns, ``Reply`` makes
replies; the session keeps the conversation and decides who answers what.
"""

import asyncio
import base64
import binascii
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from omnitalk.engines.base import Command, DismissInput, EngineError, EngineEvent, EngineFailed, Interrupt, PlaybackProgress
from omnitalk.engines.conversation import Conversation, new_id, user_item, validate_item
from omnitalk.engines.items import Items
from omnitalk.engines.pictures import check_picture
from omnitalk.engines.turns import ResponseWriter
from omnitalk.media.audio import Resampler, decode
from omnitalk.media.vad import RATE
from omnitalk.protocol import client, server
from omnitalk.protocol.base import JsonObject
from omnitalk.protocol.errors import ProtocolError, error_event
from omnitalk.protocol.session import SessionSettings
from omnitalk.protocol.settings import apply

from .draft import Draft
from .hearing import Bet, Burst, Turn
from .listener import Listener
from .llm import ChatMessage, LlmSeat
from .options import ReplyOptions, parse_options, session_options
from .outbox import Outbox
from .prompt import ContextBudget, build
from .reply import Reply
from .stages import Stages, Timed

__all__ = ["CascadeSession"]

_log = logging.getLogger(__name__)

_MIN_COMMIT = RATE // 10
"""100 ms: OpenAI's minimum for a commit."""

_MAX_FINISHED = 32
"""Finished replies that can still be cut (they may be sounding)."""


class CascadeSession:
    """Implements ``EngineSession``. ``on_close`` is called once, when nothing of the session is alive any more."""

    def __init__(
        self, session_id: str, settings: SessionSettings, stages: Stages, seat: LlmSeat, on_close: Callable[["CascadeSession"], None]
    ) -> None:
        self.id = session_id
        self._settings, self._stages, self._seat, self._on_close = settings, stages, seat, on_close
        self._outbox = Outbox()
        self._conversation = Conversation()
        self._budget = ContextBudget(stages.llm.context_tokens)
        self._tasks: set[asyncio.Task[None]] = set()
        self._reply: Reply | None = None
        self._reply_task: asyncio.Task[None] | None = None
        self._draft: Draft | None = None
        self._finished: OrderedDict[str, str] = OrderedDict()
        self._sounding: str | None = None
        self._unread: set[asyncio.Task[None]] = set()
        self._unanswered = False
        self._closed = False
        self._listener = Listener(stages, self._outbox, self, session_id, settings.turn_detection)
        stop = lambda heard_ms: self._stop_reply("client_cancelled", heard_ms)  # noqa: E731
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
            client.TurnSignal: self._refuse_turn_signal,
            client.InputTextAppend: self._append_text,
            client.OmnitalkMute: lambda _: None,
            client.OmnitalkHold: lambda command: self._listener.hold(command.held),
            Interrupt: self._interrupt,
            PlaybackProgress: self._progress,
            DismissInput: lambda _: self._listener.dismissed(),
        }

    # -- EngineSession ------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> SessionSettings:
        """The settings in force."""
        return self._settings

    def begin(self) -> None:
        """Start listening, and answer ``initial_user_text`` when there is one."""
        self.spawn(self._listener.ear.run(), "ear")
        text = self._settings.initial_user_text
        if text and text.strip():
            self._add_item(user_item(new_id("item"), {"type": "input_text", "text": text}))
            self._start_reply(session_options(self._settings))
        else:
            self.spawn(self._warm(build([], self._settings.instructions)), "first prefill")

    def notify(self, code: str, message: str) -> None:
        """Tell the person something about this call."""
        self._outbox.emit(server.OmnitalkNotice(level="warning", code=code, message=message))

    async def submit(self, command: Command) -> None:
        """Hand a command over. Raises ``EngineError`` when it is refused; never waits."""
        if self._closed:
            raise EngineError("session_closed", "This session has ended.")
        self._handlers[type(command)](command)

    def events(self) -> AsyncIterator[EngineEvent]:
        """Events in order; ends after ``close``. One consumer."""
        return self._outbox.events()

    async def close(self, reason: str) -> None:
        """End the session and free what it holds. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._reply is not None:
            self._reply.cancel(reason, self._reply.writer.audio_ms)
        self._listener.close()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            # Also when the caller's patience ends first: a session that stayed on the list would be in everybody's way for good.
            self._seat.close()
            self._outbox.close()
            self._on_close(self)

    # -- Host (what the listener asks) --------------------------------------------------------------------------------

    def busy(self) -> bool:
        """Whether a reply is being made or heard."""
        return self._sounding is not None or (self._reply is not None and self._reply.active)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Run in the background; a failure ends the session with ``EngineFailed``."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self.id}: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None or self._closed:
            return
        _log.error("%s failed", task.get_name(), exc_info=error)
        code = error.code if isinstance(error, EngineError) else "internal_error"
        self._outbox.emit(EngineFailed(code=code, message=f"The call cannot go on: {error}"))
        self._outbox.close()

    async def read_ahead(self, text: str) -> None:
        """Let the model begin with a turn that is probably over. Cancelled when the person goes on."""
        detection = self._settings.turn_detection
        if self.busy() or detection is None:
            return
        messages = build([*self._conversation, user_item("", {"type": "input_text", "text": text})], self._settings.instructions)
        if detection.create_response:
            self._draft = Draft(self._seat, messages, session_options(self._settings))
            await self._draft.run()
        else:
            await self._warm(messages)

    async def _warm(self, messages: list[ChatMessage]) -> None:
        try:
            await self._seat.prefill(messages)
        except EngineError as error:
            # The reply itself will meet the same problem and tell the person.
            _log.warning("%s: reading ahead failed: %s", self.id, error)

    def turn_ended(self, burst: Burst, bet: Bet, ended_at: float) -> None:
        """A spoken turn is complete: it becomes an item, and (unless the client creates responses itself) is answered."""
        detection = self._settings.turn_detection
        times: dict[str, float] = {"vad_ms": 1000.0 * (time.perf_counter() - ended_at), "turn_ms": bet.turn_ms, "asr_wait_ms": 0.0}
        if bet.probability is not None:
            times["turn_probability"] = bet.probability
        seconds = (burst.speech_end - burst.start) / RATE
        turn = Turn(burst.item_id, bet.words, seconds, respond=detection is not None and detection.create_response, times=times)
        turn.ended_at = ended_at
        if bet.words.done():
            self._take_spoken(turn)
        else:
            self._unread_task(self._wait_for_words(turn), "words of a turn")

    async def _wait_for_words(self, turn: Turn) -> None:
        begun = time.perf_counter()
        await asyncio.wait({turn.words})
        turn.times["asr_wait_ms"] = 1000.0 * (time.perf_counter() - begun)
        self._take_spoken(turn)

    def _take_spoken(self, turn: Turn) -> None:
        """Speech without words (a cough, a door) is no turn; but what it kept from being answered is answered now."""
        wordless = not turn.words.cancelled() and turn.words.exception() is None and not turn.words.result().transcript.text
        if wordless:
            self._answer(turn)
        else:
            self._take_turn(turn)

    # -- turns --------------------------------------------------------------------------------------------------------

    def _take_turn(self, turn: Turn) -> None:
        item = user_item(turn.item_id, {"type": "input_audio", "transcript": None}, status="in_progress")
        previous = self._conversation.add(item)
        self._outbox.emit(server.ConversationItemAdded(item=dict(item), previous_item_id=previous))
        self._outbox.emit(server.ConversationItemCreated(item=dict(item), previous_item_id=previous))
        self._outbox.emit(server.InputAudioBufferCommitted(item_id=turn.item_id, previous_item_id=previous))
        self._unread_task(self._read_turn(turn, item, previous), "turn")

    def _unread_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Work that must be over before a reply may read the conversation."""
        task = self.spawn(work, name)
        self._unread.add(task)
        task.add_done_callback(self._unread.discard)

    async def _read_turn(self, turn: Turn, item: JsonObject, previous: str | None) -> None:
        text = await self._read_item(item, 0, turn.words, turn.seconds)
        item["status"] = "completed"
        self._outbox.emit(server.ConversationItemDone(item=dict(item), previous_item_id=previous))
        if text is None:
            return
        turn.times["asr_ms"] = turn.words.result().ms
        self._unanswered = self._unanswered or bool(text) or turn.manual
        self._answer(turn)

    def _answer(self, turn: Turn) -> None:
        """Reply, unless nothing waits for it, a reply is being made, or the person goes on: the next turn then answers both."""
        if turn.respond and self._unanswered and not self._listener.speaking and not (self._reply and self._reply.active):
            self._start_reply(session_options(self._settings), ended_at=turn.ended_at, times=turn.times)

    async def _read_item(self, item: JsonObject, index: int, words: "asyncio.Task[Timed]", seconds: float) -> str | None:
        """Put the words into the item and on the wire. None when the recogniser failed (which the wire is told)."""
        try:
            text = (await words).transcript.text
        except EngineError as error:
            problem: JsonObject = {"type": error.kind, "code": error.code, "message": error.message}
            self._outbox.emit(server.InputAudioTranscriptionFailed(item_id=item["id"], content_index=index, error=problem))
            return None
        item["content"][index]["transcript"] = text
        if self._settings.transcribe:
            if text:
                self._outbox.emit(server.InputAudioTranscriptionDelta(item_id=item["id"], content_index=index, delta=text))
            usage: JsonObject = {"type": "duration", "seconds": round(seconds, 2)}
            self._outbox.emit(
                server.InputAudioTranscriptionCompleted(item_id=item["id"], content_index=index, transcript=text, usage=usage)
            )
        return text

    # -- replies ------------------------------------------------------------------------------------------------------

    def _start_reply(self, options: ReplyOptions, *, ended_at: float | None = None, times: dict[str, float] | None = None) -> None:
        settings = self._settings
        writer = ResponseWriter(
            self._outbox.emit,
            response_id=new_id("resp"),
            item_id=new_id("item"),
            conversation=self._conversation if options.in_conversation else None,
            speaks=options.speaks,
            encoding=settings.output_format.encoding,
            rate=settings.output_format.rate,
            metadata=options.metadata,
            max_output_tokens=options.max_tokens,
        )
        before = list(self._conversation)
        draft, self._draft = self._draft, None
        reply = Reply(
            self._stages, self._seat, self._outbox, writer, key=self.id, options=options, wire=settings.output_format, draft=draft
        )
        writer.begin()
        self._reply = reply
        self._unanswered = False
        self._reply_task = self.spawn(self._run_reply(reply, before, ended_at, times or {}), "reply")

    async def _run_reply(self, reply: Reply, before: list[JsonObject], ended_at: float | None, times: dict[str, float]) -> None:
        while self._unread:
            await asyncio.wait(self._unread)
        options = reply.options

        def read() -> list[ChatMessage]:
            if options.items is not None:
                return build(options.items, options.instructions)
            self._make_room(reply)
            return build([item for item in before if item["id"] in self._conversation], options.instructions)

        begun = time.perf_counter()
        await reply.run(read)
        if not reply.writer.ended:
            return
        self._remember(reply)
        self._tell(reply, ended_at, begun, times)
        if reply.usage is not None and options.items is None and options.in_conversation:
            if not self._seat.looked:
                self._budget.learn(reply.messages, reply.text, reply.usage)
            self._gauge(reply.usage.prompt_tokens + reply.usage.completion_tokens)
            if self._make_room(reply):
                # The model reads what is left while the person listens, not when they wait.
                await self._warm(build(list(self._conversation), options.instructions))

    def _remember(self, reply: Reply) -> None:
        if reply.options.in_conversation:
            self._finished[reply.writer.response_id] = reply.writer.item_id
            while len(self._finished) > _MAX_FINISHED:
                self._finished.popitem(last=False)

    def _tell(self, reply: Reply, ended_at: float | None, begun: float, times: dict[str, float]) -> None:
        stats: dict[str, float | int | str | None] = {name: round(ms, 3 if name == "turn_probability" else 1) for name, ms in times.items()}
        stats.update({name: round(ms, 1) for name, ms in reply.times.items()})
        if ended_at is not None and "first_sound_ms" in reply.times:
            stats["response_ms"] = round(1000.0 * (begun - ended_at) + reply.times["first_sound_ms"], 1)
        if reply.usage is not None:
            stats["prompt_tokens"], stats["completion_tokens"], stats["cached_tokens"] = reply.usage
        ear = self._listener.ear
        stats["audio_dropped_ms"] = round((ear.ring.dropped + ear.passed_over) * 1000.0 / RATE, 1)
        self._outbox.emit(server.OmnitalkStats(scope="turn", stats=stats, response_id=reply.writer.response_id))

    def _make_room(self, reply: Reply) -> bool:
        count = self._budget.excess(self._conversation, reply.options.instructions, reply.options.max_tokens)
        if not count:
            return False
        self._conversation.drop_oldest(count)
        self._outbox.emit(
            server.OmnitalkNotice(
                level="info",
                code="context_trimmed",
                message="This call has grown longer than the model can remember; its oldest part is forgotten.",
            )
        )
        return True

    def _gauge(self, used: int) -> None:
        kinds = self._budget.by_kind(self._conversation, self._settings.instructions)
        self._outbox.emit(server.OmnitalkContext(used_tokens=used, max_tokens=self._budget.limit, by_kind=kinds))

    # -- commands -----------------------------------------------------------------------------------------------------

    def _update(self, command: client.SessionUpdate) -> None:
        try:
            new = apply(self._settings, command.session)
        except ProtocolError as error:
            raise EngineError(error.code, error.message, param=error.param) from error
        old, self._settings = self._settings, new
        if new.turn_detection != old.turn_detection:
            self._listener.configure(new.turn_detection)

    def _append(self, command: client.InputAudioBufferAppend) -> None:
        if command.video_frames:
            if not self._stages.llm.sees:
                raise EngineError("invalid_video_frames", "This engine does not see; send no video_frames.", param="video_frames")
            self.spawn(self._look(command.video_frames[0]), "picture")
        self._listener.append(command, self._settings.input_format)

    async def _look(self, picture: bytes) -> None:
        try:
            await asyncio.to_thread(check_picture, picture)
        except EngineError as problem:
            self._outbox.emit(error_event(problem.code, problem.message, param=problem.param))
        else:
            self._seat.look(picture)

    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        start, end = self._listener.take()
        if end - start < _MIN_COMMIT:
            raise EngineError(
                "input_audio_buffer_empty",
                f"The input buffer holds {(end - start) * 1000 // RATE} ms of sound; a commit needs at least 100 ms.",
            )
        respond = self._settings.auto_response if command.create_response is None else command.create_response
        if respond:
            self._check_free()
        sound = self._listener.ear.ring.slice(start, end)
        self._listener.clear()
        words = self._listener.recognise(sound)
        self._take_turn(Turn(new_id("item"), words, sound.size / RATE, respond=respond, manual=True))

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        self._listener.clear()
        self._outbox.emit(server.InputAudioBufferCleared())

    def _create_response(self, command: client.ResponseCreate) -> None:
        options = parse_options(command.response, self._settings)
        self._check_free()
        if not len(self._conversation) and options.items is None and not options.instructions:
            raise EngineError("response_create_without_input", "There is nothing to answer yet: commit sound or create an item first.")
        self._start_reply(options)

    def _check_free(self) -> None:
        if self._reply is not None and self._reply.active:
            raise EngineError(
                "response_already_active", f"Response {self._reply.writer.response_id} is in progress; wait for it or cancel it first."
            )

    def _create_item(self, command: client.ConversationItemCreate) -> None:
        item = validate_item(command.item)
        sounds = [(index, self._sound_of(part)) for index, part in enumerate(item["content"]) if part.get("audio")]
        self._add_item(item, command.previous_item_id)
        for index, sound in sounds:
            # The item as the wire keeps it has no sound, as in the public API.
            item["content"][index] = {"type": "input_audio", "transcript": item["content"][index].get("transcript")}
            if item["content"][index]["transcript"] is None:
                self._unread_task(self._hear_item(item, index, sound), "item")

    async def _hear_item(self, item: JsonObject, index: int, sound: Any) -> None:
        await self._read_item(item, index, self._listener.recognise(sound), sound.size / RATE)

    def _sound_of(self, part: JsonObject) -> Any:
        wire = self._settings.input_format
        try:
            data = base64.b64decode(part["audio"], validate=True)
            return Resampler(wire.rate, RATE).process(decode(data, wire.encoding), last=True)
        except (ValueError, binascii.Error) as error:
            raise EngineError("bad_audio", f"The item's audio cannot be read: {error}.", param="item.content.audio") from error

    def _add_item(self, item: JsonObject, previous_item_id: str | None = None) -> None:
        self._items.add(item, previous_item_id)
        self._unanswered = self._unanswered or item["role"] == "user"

    def _writing(self) -> str | None:
        return self._reply.writer.item_id if self._reply is not None and self._reply.active else None

    def _append_text(self, command: client.InputTextAppend) -> None:
        if not command.text.strip():
            raise EngineError("bad_event", "text must not be empty.", param="text")
        self._check_free()
        self._add_item(user_item(new_id("item"), {"type": "input_text", "text": command.text}))
        self._start_reply(session_options(self._settings))

    def _refuse_turn_signal(self, command: client.TurnSignal) -> None:
        raise EngineError(
            "unsupported", "This engine takes no turn signals; use input_audio_buffer.commit and response.create.", param="event"
        )

    # -- the call's own commands --------------------------------------------------------------------------------------

    def _interrupt(self, command: Interrupt) -> None:
        reply = self._reply
        if reply is not None and reply.active and reply.writer.response_id == command.response_id:
            self._stop_reply(command.reason, command.heard_ms)
        elif command.response_id in self._finished:
            item_id = self._finished.pop(command.response_id)
            # Whoever sent the interrupt tells the wire; here only the memory is cut.
            if item_id in self._conversation:
                self._conversation.truncate(item_id, command.heard_ms)
        else:
            raise EngineError("response_not_active", f"There is no response {command.response_id} to interrupt.", param="response_id")
        if self._sounding == command.response_id:
            self._sounding = None
        if command.hard:
            self._listener.clear()
        else:
            self._listener.interrupted()

    def _stop_reply(self, reason: str, heard_ms: float) -> None:
        reply, task = self._reply, self._reply_task
        assert reply is not None and task is not None
        reply.cancel(reason, heard_ms)
        task.cancel()
        self._reply = self._reply_task = None

    def _progress(self, command: PlaybackProgress) -> None:
        if command.sounding:
            self._sounding = command.response_id
        elif self._sounding == command.response_id:
            self._sounding = None
