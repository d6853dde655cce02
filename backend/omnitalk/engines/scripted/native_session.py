"""MiniCPM-o's vocabulary: sound in without pause, a decision for every second of it, speech in chunks of a second.

Numbers: a unit is 16,000 samples. A reply's first chunk holds 840 ms (the model's look-ahead is missing there), later ones
1,000 ms; one is made every second. The model answers once it has heard speech followed by a quiet unit.
"""

from collections import deque

import numpy as np

from omnitalk.engines.base import DismissInput, EngineError, Interrupt
from omnitalk.engines.cascade.options import ReplyOptions, session_options
from omnitalk.engines.conversation import new_id, validate_item
from omnitalk.engines.turns import ResponseWriter
from omnitalk.media.audio import Samples, level_dbfs
from omnitalk.protocol import client, server
from omnitalk.protocol.base import UNSET, JsonObject
from omnitalk.protocol.session import SessionSettings

from .hearing import RATE, SPEECH_DBFS
from .script import Reply
from .session import ScriptedSession
from .tone import ToneVoice

__all__ = ["NativeSession", "check_native"]

FIRST_CHUNK_MS = 840.0
CHUNK_MS = 1_000.0
_UNIT_S = 1.0
_MAX_FRAME_GROUPS = 64
"""Groups of frames waiting for a unit; more than one a second only makes the picture late, so the oldest go."""

_SILENCE_FOR_INITIAL_TEXT = 3
"""Quiet units after which an opening text is answered."""

_FIXED = "unsupported_native_response_options"


def check_native(settings: SessionSettings) -> None:
    """Raises ``EngineError`` for what this vocabulary does not have, or lacks."""
    if settings.speaks and settings.ref_audio is None:
        raise EngineError("ref_audio_required", "A spoken session needs a reference voice: session.ref_audio.", param="session.ref_audio")
    if settings.turn_detection is not None:
        message = "This model takes turns by itself: turn_detection is null."
        raise EngineError("unsupported_turn_detection", message, param="session.turn_detection")


class NativeSession(ScriptedSession):
    """One continuous session."""

    def begin(self) -> None:
        """Waits for sound."""
        self._unit: list[Samples] = []
        self._unit_size = 0
        self._unit_is_speech = self._unit_force_listen = False
        self._pending = self._settings.initial_user_text is not None
        self._quiet_units = 0
        self._spoken_since_commit = False
        self._uncommitted = 0
        self._frames: deque[int] = deque(maxlen=_MAX_FRAME_GROUPS)
        self.frames_seen = 0
        self._force_listen_left = int(self._settings.extra.get("force_listen_count", 0) or 0)
        self._handlers[client.InputTextAppend] = self._refuse_text
        self._handlers[DismissInput] = self._dismiss

    # -- units --------------------------------------------------------------------------------------------------------

    def _append(self, command: client.InputAudioBufferAppend) -> None:
        if not command.audio:
            raise EngineError("invalid_input_modality", "Frames ride on sound: send them with audio.", param="video_frames")
        samples = self._ear.hear(command, self._settings.input_format)
        if self._held:
            return
        if command.video_frames:
            self._frames.append(len(command.video_frames))
        for frame in self._ear.frames(samples):
            self._outbox.emit(frame)
        self._uncommitted += int(samples.size)
        if command.is_speech is True:
            self._unit_is_speech = True
        self._unit_force_listen = self._unit_force_listen or command.force_listen is True
        while samples.size:
            room = RATE - self._unit_size
            self._unit.append(samples[:room])
            self._unit_size += min(room, samples.size)
            samples = samples[room:]
            if self._unit_size == RATE:
                self._unit_complete()
                self._unit_force_listen = bool(samples.size) and command.force_listen is True

    def _unit_complete(self) -> None:
        sound = np.concatenate(self._unit) if self._unit else np.empty(0, np.float32)
        speech = self._unit_is_speech or level_dbfs(sound) > SPEECH_DBFS
        forced = self._unit_force_listen or self._force_listen_left > 0
        self._force_listen_left = max(0, self._force_listen_left - 1)
        self._unit, self._unit_size = [], 0
        self._unit_is_speech = self._unit_force_listen = False
        if self._frames:
            self.frames_seen += self._frames.popleft()
        if speech:
            self._pending = self._spoken_since_commit = True
        self._quiet_units = 0 if speech else self._quiet_units + 1
        self._decide(speech=speech, forced=forced)

    def _decide(self, *, speech: bool, forced: bool) -> None:
        if self._writer is not None:
            if forced:
                self._yield_floor(self._writer)
            # Otherwise it hears the person and finishes its turn: nothing to say about this unit.
            return
        opening = self._turns == 0 and self._settings.initial_user_text is not None and self._quiet_units < _SILENCE_FOR_INITIAL_TEXT
        if forced or speech or not self._pending or (opening and not self._spoken_since_commit):
            self._listen("model_listen" if forced or speech or self._settings.auto_response else "silence_or_noise")
        else:
            self._answer()

    def _answer(self) -> None:
        self._pending = False
        self._turns += 1
        self._start_reply(session_options(self._settings), "")

    def _listen(self, reason: str, response_id: str | None = None) -> None:
        response: JsonObject = {
            "object": "realtime.response",
            "status": "listening",
            "metadata": {"reason": reason, "model_listen": reason == "model_listen"},
        }
        if response_id is not None:
            response["id"] = response_id
        self._outbox.emit(server.ResponseListen(response=response, response_id=UNSET if response_id is None else response_id))

    def _yield_floor(self, writer: ResponseWriter) -> None:
        """The model gives way: it says so inside its response, which then ends; what it remembers stays."""
        self._listen("model_listen", writer.response_id)
        self._stop("model_listen", writer.audio_ms)

    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        if not self._uncommitted:
            raise EngineError("input_audio_buffer_empty", "No sound came since the last commit.")
        self._uncommitted = 0
        self._add_spoken_turn(new_id("item"), None)
        if self._unit_size:
            self._unit.append(np.zeros(RATE - self._unit_size, np.float32))
            self._unit_size = RATE
            self._unit_complete()
        self._spoken_since_commit = False
        if self._writer is None and self._pending and command.create_response is not False:
            self._answer()

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        self._forget_input()
        self._outbox.emit(server.InputAudioBufferCleared())

    def _forget_input(self) -> None:
        self._unit, self._unit_size, self._uncommitted = [], 0, 0
        self._unit_is_speech = self._unit_force_listen = self._pending = False
        self._frames.clear()

    # -- replies ------------------------------------------------------------------------------------------------------

    async def _speak(self, writer: ResponseWriter, voice: ToneVoice, reply: Reply) -> None:
        chunks = 0
        length = FIRST_CHUNK_MS
        while voice.left:
            piece = voice.say(length)
            chunks += 1
            length = CHUNK_MS
            over = not voice.left
            writer.audio(
                piece.data, piece.duration_ms, piece.words, piece.marks, {"model_speak": True, "end_of_turn": over, "session_id": self.id}
            )
            if reply.yields_after == chunks:
                self._yield_floor(writer)
                return
            if not over:
                await self._sleep(_UNIT_S)
        self._listen("auto_response_segment_complete", writer.response_id)

    def _create_response(self, command: client.ResponseCreate) -> None:
        refused = {"instructions", "voice", "temperature", "max_output_tokens", "tools", "tool_choice"} & {
            name for name, value in command.response.items() if value is not None
        }
        if refused:
            name = sorted(refused)[0]
            raise EngineError(_FIXED, f"This model cannot change {name!r} for one response.", param=f"response.{name}")
        if self._writer is not None:
            raise EngineError("response_already_active", f"Response {self._writer.response_id} is in progress.")
        if not self._turns and not self._pending:
            raise EngineError("text_only_turn_unsupported", "This model answers sound; send some first.")
        options: ReplyOptions = session_options(self._settings)
        self._start_reply(options, "")

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _create_item(self, command: client.ConversationItemCreate) -> None:
        self._items.add(validate_item(command.item), command.previous_item_id)

    def _refuse_text(self, command: client.InputTextAppend) -> None:
        raise EngineError("native_text_append_unsupported", "This model takes no typed text in a live session.", param="text")

    def _interrupted(self, command: Interrupt) -> None:
        if command.hard:
            self._forget_input()
            self._turns = 0

    def _dismiss(self, command: DismissInput) -> None:
        self._pending = False

    def _update(self, command: client.SessionUpdate) -> None:
        wanted = command.session.instructions
        if wanted is not UNSET and wanted != self._settings.instructions:
            message = "The instructions of a session of this model cannot change; open another call."
            raise EngineError("instructions_update_unsupported", message, param="session.instructions")
        super()._update(command)
