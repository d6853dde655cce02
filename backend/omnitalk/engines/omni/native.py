"""MiniCPM-o 4.5 in native duplex: sound goes in without pause, the model decides unit by unit, and an interruption keeps its memory."""

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

import structlog

from omnitalk.engines.base import EngineError, Interrupt
from omnitalk.engines.cascade.options import parse_options
from omnitalk.engines.pictures import check_picture
from omnitalk.media.vad import VadModel
from omnitalk.protocol import client, server
from omnitalk.protocol.base import UNSET, JsonObject
from omnitalk.protocol.errors import error_event
from omnitalk.protocol.session import SessionSettings

from .gauge import ContextGauge, Window
from .intake import Piece
from .reply import Reply
from .session import OmniSession, Opened, passed_on, response_id_of

__all__ = ["NativeSession", "Yielding"]

log = structlog.get_logger("omnitalk.omni")

_GAUGE_UNITS = 5
"""The gauge is shown every five seconds of sound."""

_WARN_AT = (0.75, 0.9)
_ROLL_OVER_AT = 0.93
"""Without a window the session is renewed at the next turn boundary from here on: a long reply with a camera needs what is left."""

_RESERVE_TOKENS = 300
"""A unit with a stacked pair of pictures and the words of a reply."""

_LEAST_MS = 100.0
_SUMMARY_CHARS = 1_200
_REFUSED_OPTIONS = frozenset({"instructions", "voice", "temperature", "max_output_tokens", "tools", "tool_choice"})

_YIELD_S = 3.0
"""The model decides a unit in about 0.1 s; beyond this something else is wrong."""


class _Barrier(NamedTuple):
    """Stands in the lane behind the unit in which the model gives way."""

    engine_id: str


class Yielding(Protocol):
    """Makes the engine end a response at the ``listen`` that it was told to draw. See ``boundary``.

    ``announced``: the engine says when that has happened; sound behind the unit waits for it.
    """

    announced: bool

    def yield_floor(self, response_id: str) -> None: ...
    def forget(self, response_id: str) -> None: ...
    def yields(self, response_id: str) -> bool: ...


Reopen = Callable[[JsonObject], Awaitable[Any]]


class NativeSession(OmniSession):
    """``limit``: tokens of the model's context; ``voice_s``: length of the reference voice; ``reopen`` opens an engine session."""

    def __init__(
        self,
        session_id: str,
        settings: SessionSettings,
        opened: Opened,
        *,
        vad: VadModel | None,
        on_close: Callable[[OmniSession], None],
        boundary: Yielding,
        limit: int,
        voice_s: float,
        reopen: Reopen,
    ) -> None:
        super().__init__(session_id, settings, opened, vad=vad, on_close=on_close)
        self._boundary, self._reopen = boundary, reopen
        self._voice_s = voice_s
        self._gauge = self._new_gauge(limit, settings.instructions or "")
        self._warned = 0
        self._uncommitted_ms = 0.0
        self._yielding: str | None = None
        self._moved = asyncio.Event()
        self._rolling = False
        self._attached = asyncio.Event()
        self._attached.set()
        self._said_so_far = ""
        self.rolled_over = 0

    def _new_gauge(self, limit: int, instructions: str) -> ContextGauge:
        window = Window.of(dict(self._config.get("extra_body") or {}))
        return ContextGauge(limit, window, prefix_text=instructions, voice_s=self._voice_s)

    def figures(self) -> dict[str, float]:
        """See ``OmniSession``; and how often the context was renewed, and how many units a window dropped."""
        return {
            **super().figures(),
            "context_renewals": float(self.rolled_over),
            "window_units_dropped": float(self._gauge.dropped_units),
        }

    # -- sound in -----------------------------------------------------------------------------------------------------

    def _append(self, command: client.InputAudioBufferAppend) -> None:
        if not command.audio:
            raise EngineError("invalid_input_modality", "Frames ride on sound: send them with audio.", param="video_frames")
        if self._held:
            return
        if command.force_listen is True and self._reply is not None:
            self._yield(self._reply)
        pieces, verdicts = self._intake.hear(command, self._settings.input_format)
        for verdict in verdicts:
            self._outbox.emit(verdict)
        for piece in pieces:
            self._put(piece)

    def _put(self, piece: Piece) -> None:
        self._uncommitted_ms += 100.0
        self._lane.put_sound(piece, 100.0)
        if piece.completes and piece.listen and self._yielding is not None:
            self._lane.put(_Barrier(self._yielding))
            self._yielding = None
        if piece.completes:
            self._gauge.unit(len(piece.frames))
            self._show_gauge(piece.unit)

    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        if self._uncommitted_ms < _LEAST_MS:
            raise EngineError("input_audio_buffer_empty", "Less than 100 ms of sound came since the last commit.")
        self._uncommitted_ms = 0.0
        # The engine fills the unit up with silence: the next one begins with the next sound.
        self._intake.restart()
        self._lane.put(
            self._commands.Commit(
                final=command.final if isinstance(command.final, bool) else True,
                create_response=command.create_response if isinstance(command.create_response, bool) else None,
                is_speech=command.is_speech if isinstance(command.is_speech, bool) else None,
            )
        )

    # -- the model's decisions ------------------------------------------------------------------------------------------

    def _listened(self, event: Any) -> None:
        details = dict(event.details or {})
        inner = details.get("response")
        metadata = inner.get("metadata") if isinstance(inner, dict) else None
        reason = (metadata or {}).get("reason") or details.get("reason") or "model_listen"
        engine_id = event.response_id
        if isinstance(engine_id, str) and (self._reply is None or self._reply.engine_id != engine_id):
            # About a response that the person has already interrupted.
            return
        response: JsonObject = {
            "object": "realtime.response",
            "status": "listening",
            "metadata": {"reason": reason, "model_listen": reason == "model_listen"},
        }
        shown: str | None = None
        if self._reply is not None and isinstance(engine_id, str):
            shown = response["id"] = self._reply.id
        self._outbox.emit(server.ResponseListen(response=response, response_id=UNSET if shown is None else shown))
        if self._reply is None:
            self._at_turn_boundary()

    def _said(self, words: str) -> None:
        self._gauge.said(len(words))
        self._said_so_far = (self._said_so_far + words)[-_SUMMARY_CHARS:]

    def _measured(self, reply: Reply, metadata: JsonObject) -> None:
        # The count adds up over a response's units: only with its first piece is it the length of the context.
        engine: Any = metadata.get("vllm_omni")
        stages = engine.get("stage_metrics") if isinstance(engine, dict) else None
        thinker = stages.get("0") if isinstance(stages, dict) else None
        tokens = thinker.get("num_tokens_in") if isinstance(thinker, dict) else None
        if reply.pieces == 0 and isinstance(tokens, int) and 0 < tokens <= self._gauge.limit:
            self._gauge.measured(tokens)

    def _begin_reply(self, event: Any) -> None:
        super()._begin_reply(event)
        if self._said_so_far and not self._said_so_far.endswith("\n"):
            self._said_so_far += "\n"

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        super()._clear(command)
        self._uncommitted_ms = 0.0

    def _stop_model(self, command: Interrupt, reply: Reply | None) -> None:
        if command.hard:
            # The engine drops the request, and with it everything that was said in this call.
            self._lane.forget_sound()
            self._intake.restart()
            self._gauge.forget()
            self._lane.put(self._commands.BargeIn())
            self._outbox.emit(
                server.OmnitalkNotice(
                    level="info",
                    code="memory_cleared",
                    message="That was a hard interruption: the model has forgotten what was said in this call.",
                )
            )
        elif reply is not None:
            self._yield(reply)

    def _yield(self, reply: Reply) -> None:
        """Tell the model softly: it listens in the unit that is being filled, and its response ends there."""
        self._boundary.yield_floor(reply.engine_id)
        self._intake.listen()
        self._yielding = reply.engine_id if self._boundary.announced else None

    async def _until_over(self, engine_id: str) -> None:
        # The engine stamps a unit with the turn it belongs to when it is complete. One that is completed before the model has given
        # way would count to the turn that is over, and its answer would be dropped.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_YIELD_S):
                while self._boundary.yields(engine_id):
                    self._moved.clear()
                    await self._moved.wait()

    def _engine_event(self, event: Any) -> None:
        if event.type == "response.done":
            self._boundary.forget(response_id_of(event))
            self._moved.set()
        super()._engine_event(event)

    # -- what this model does not take ------------------------------------------------------------------------------------

    def _create_response(self, command: client.ResponseCreate) -> None:
        parse_options(command.response, self._settings)
        refused = _REFUSED_OPTIONS & {name for name, value in command.response.items() if value is not None}
        if refused:
            name = sorted(refused)[0]
            raise EngineError(
                "unsupported_native_response_options", f"This model cannot change {name!r} for one response.", param=f"response.{name}"
            )
        if self._reply is not None:
            raise EngineError("response_already_active", f"Response {self._reply.id} is in progress.")
        if self._uncommitted_ms < _LEAST_MS:
            raise EngineError("response_create_without_input", "Nothing was said since the last reply.")
        self._lane.put(self._commands.CreateResponse(options=passed_on(command.response)))

    def _create_item(self, command: client.ConversationItemCreate) -> None:
        # Kept for whoever reads the conversation; the model itself remembers only what it heard and said.
        self._items.add(self._checked_item(command, images=False), command.previous_item_id)

    def _append_text(self, command: client.InputTextAppend) -> None:
        raise EngineError("native_text_append_unsupported", "This model takes no typed text in a live session.", param="text")

    def _patch(self, command: client.SessionUpdate) -> JsonObject:
        session = command.session
        if session.instructions is not UNSET and session.instructions != self._settings.instructions:
            raise EngineError(
                "instructions_update_unsupported",
                "The instructions of a session of this model cannot change; open another call.",
                param="session.instructions",
            )
        if session.ref_audio is not UNSET and session.ref_audio != self._settings.ref_audio:
            raise EngineError(
                "ref_audio_update_unsupported", "The voice of a session of this model cannot change.", param="session.ref_audio"
            )
        return super()._patch(command)

    # -- context ------------------------------------------------------------------------------------------------------

    def _show_gauge(self, unit: int) -> None:
        gauge = self._gauge
        self._before_it_overflows()
        if unit % _GAUGE_UNITS == 0:
            left = gauge.seconds_left
            self._outbox.emit(
                server.OmnitalkContext(used_tokens=gauge.used, max_tokens=gauge.limit, by_kind=gauge.by_kind, seconds_left=left)
            )
        if self._warned < len(_WARN_AT) and gauge.full >= _WARN_AT[self._warned]:
            self._warned += 1
            left = gauge.seconds_left
            about = f"; about {round(left)} s are left" if left is not None else ""
            self._outbox.emit(
                server.OmnitalkNotice(
                    level="warning", code="context_filling", message=f"The model's memory is {gauge.full:.0%} full{about}."
                )
            )

    def _at_turn_boundary(self) -> None:
        if self._gauge.full >= _ROLL_OVER_AT:
            self._start_over()

    def _before_it_overflows(self) -> None:
        # The engine drops an overfull context without a word and goes on with an empty one. It must not come to that.
        if self._gauge.used + _RESERVE_TOKENS < self._gauge.limit:
            return
        if self._reply is not None and self._gauge.window.mode == "off" and not self._rolling:
            self._kill(self._reply.engine_id)
            self._end_reply(self._reply, "incomplete", reason="context_length_exceeded")
        self._start_over()

    def _start_over(self) -> None:
        if not self._rolling and self._gauge.window.mode == "off":
            self._rolling = True
            self._spawn(self._roll_over(), "roll over")

    async def _roll_over(self) -> None:
        """A fresh engine session that has been told what was said in the old one. The seat is given back before it is taken again."""
        summary = " ".join(self._said_so_far.split())
        instructions = self._settings.instructions or "Streaming Omni Conversation."
        config = {**self._config, "instructions": f"{instructions}\nEarlier in this call you said: {summary}" if summary else instructions}
        config.pop("initial_user_text", None)
        old = self._handle
        self._attached.clear()
        self._handle = None
        await self._leave(old, "context_rollover")
        fresh = await self._reopen(config)
        self._handle = fresh
        self._attached.set()
        self._intake.restart()
        self._gauge = self._new_gauge(self._gauge.limit, str(config["instructions"]))
        self._warned = 0
        self.rolled_over += 1
        self._rolling = False
        self._outbox.emit(
            server.OmnitalkNotice(
                level="info", code="context_renewed", message="The model's memory was full; it goes on with a summary of what it said."
            )
        )
        self._spawn(self._listen_to(fresh), "events")

    async def _pump(self) -> None:
        while True:
            command = await self._lane.get()
            if isinstance(command, _Barrier):
                await self._until_over(command.engine_id)
                continue
            if isinstance(command, Piece):
                command = self._append_of(command, await self._seen(command.frames))
            # Between two engine sessions sound waits in the lane, which is bounded.
            await self._attached.wait()
            await self._handle.submit(command)

    async def _seen(self, frames: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """The pictures, or none when one of them is bad: the sound goes on without."""
        try:
            for frame in frames:
                await asyncio.to_thread(check_picture, frame)
        except EngineError as problem:
            self._outbox.emit(error_event(problem.code, problem.message, param=problem.param))
            return ()
        return frames

    def _append_of(self, piece: Piece, frames: tuple[bytes, ...]) -> Any:
        return self._commands.AppendAudio(
            audio=piece.sound,
            format="pcm16",
            sample_rate_hz=16_000,
            is_speech=piece.speech,
            video_frames=tuple(base64.b64encode(frame).decode() for frame in frames),
            hints={"force_listen": True} if piece.listen else {},
        )
