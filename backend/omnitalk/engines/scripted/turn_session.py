"""A session that answers turn by turn: the person's turn is ended by a detector (of level, not of speech) or by the client."""

from omnitalk.engines.base import DismissInput, EngineError, Interrupt, NearEnd, NearEndText
from omnitalk.engines.cascade.options import ReplyOptions, parse_options, session_options
from omnitalk.engines.conversation import new_id, user_item, validate_item
from omnitalk.engines.turns import ResponseWriter
from omnitalk.protocol import client, server
from omnitalk.protocol.base import JsonObject

from .hearing import RATE
from .script import Reply
from .session import ScriptedSession
from .tone import ToneVoice

__all__ = ["TurnSession"]

_MIN_COMMIT = RATE // 10
"""100 ms: OpenAI's minimum for a commit."""

_PIECE_MS = 200.0
_SILENCE_MS = 500.0
"""OpenAI's default of ``silence_duration_ms``."""


class TurnSession(ScriptedSession):
    """``sees``: takes picture items (Qwen3-Omni's vocabulary). Never takes frames beside sound."""

    sees = False

    def begin(self) -> None:
        """Answers ``initial_user_text``."""
        self._uncommitted = 0
        self._speech_ms = self._quiet_ms = 0.0
        self._burst: str | None = None
        self._burst_started_ms = 0.0
        self._over_reply = self._cut_by_burst = False
        self._waiting: str | None = None
        self._handlers[DismissInput] = self._dismiss
        self._handlers[client.InputTextAppend] = self._append_text
        self._handlers[client.TurnSignal] = self._refuse_signal
        if text := self._settings.initial_user_text:
            self._items.add(user_item(new_id("item"), {"type": "input_text", "text": text}))
            self._start_reply(session_options(self._settings), text)

    # -- sound --------------------------------------------------------------------------------------------------------

    def _append(self, command: client.InputAudioBufferAppend) -> None:
        if command.video_frames:
            raise EngineError("invalid_video_frames", "Frames do not ride on sound here; send pictures as items.", param="video_frames")
        samples = self._ear.hear(command, self._settings.input_format)
        if self._held:
            return
        self._uncommitted += int(samples.size)
        for frame in self._ear.frames(samples):
            self._outbox.emit(frame)
            if self._settings.turn_detection is not None:
                self._detect(frame)

    def _detect(self, frame: NearEnd) -> None:
        detection = self._settings.turn_detection
        assert detection is not None
        if frame.probability >= detection.threshold:
            self._speech_ms += frame.frame_ms
            self._quiet_ms = 0.0
            if self._burst is None and self._speech_ms >= detection.min_speech_duration_ms:
                self._speech_started(frame.at_ms)
            return
        self._quiet_ms += frame.frame_ms
        if self._burst is None:
            self._speech_ms = 0.0
        elif self._quiet_ms >= (detection.silence_duration_ms or _SILENCE_MS):
            self._speech_ended(frame.at_ms - self._quiet_ms)

    def _speech_started(self, at_ms: float) -> None:
        self._burst = self._waiting or new_id("item")
        self._waiting = None
        self._burst_started_ms = at_ms - self._speech_ms
        self._over_reply, self._cut_by_burst = self._busy, False
        self._outbox.emit(server.InputAudioBufferSpeechStarted(audio_start_ms=round(self._burst_started_ms), item_id=self._burst))

    def _speech_ended(self, at_ms: float) -> None:
        burst, self._burst = self._burst, None
        assert burst is not None
        self._speech_ms = self._quiet_ms = 0.0
        self._outbox.emit(server.InputAudioBufferSpeechStopped(audio_end_ms=round(at_ms), item_id=burst))
        if self._over_reply and not self._cut_by_burst and self._busy:
            self._waiting = burst
            text = self._script.heard(self._turns)
            self._outbox.emit(NearEndText(text=text, duration_ms=at_ms - self._burst_started_ms, item_id=burst))
        else:
            self._spoken_turn(burst)

    def _spoken_turn(self, item_id: str) -> None:
        detection = self._settings.turn_detection
        self._take_turn(item_id, respond=detection is not None and detection.create_response)

    def _take_turn(self, item_id: str, *, respond: bool) -> None:
        text = self._script.heard(self._turns)
        self._turns += 1
        self._uncommitted = 0
        self._add_spoken_turn(item_id, text)
        if respond and self._writer is None:
            self._start_reply(session_options(self._settings), text)

    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        if self._uncommitted < _MIN_COMMIT:
            held = self._uncommitted * 1000 // RATE
            raise EngineError("input_audio_buffer_empty", f"The input buffer holds {held} ms of sound; a commit needs at least 100 ms.")
        respond = self._settings.auto_response if command.create_response is None else command.create_response
        if respond:
            self._check_free()
        burst, self._burst = self._burst, None
        self._speech_ms = self._quiet_ms = 0.0
        self._take_turn(burst or new_id("item"), respond=respond)

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        self._forget_input()
        self._outbox.emit(server.InputAudioBufferCleared())

    def _forget_input(self) -> None:
        self._uncommitted = 0
        self._burst = self._waiting = None
        self._speech_ms = self._quiet_ms = 0.0

    # -- replies ------------------------------------------------------------------------------------------------------

    def _check_free(self) -> None:
        if self._writer is not None:
            raise EngineError(
                "response_already_active", f"Response {self._writer.response_id} is in progress; wait for it or cancel it first."
            )

    def _create_response(self, command: client.ResponseCreate) -> None:
        options: ReplyOptions = parse_options(command.response, self._settings)
        self._check_free()
        if not len(self._conversation) and options.items is None and not options.instructions:
            raise EngineError("response_create_without_input", "There is nothing to answer yet: commit sound or create an item first.")
        items = options.items or list(self._conversation)
        self._start_reply(options, _words_of(items[-1]) if items else "")

    async def _speak(self, writer: ResponseWriter, voice: ToneVoice, reply: Reply) -> None:
        await self._sleep(self._script.first_sound_s)
        while voice.left:
            piece = voice.say(_PIECE_MS)
            writer.audio(piece.data, piece.duration_ms, piece.words, piece.marks)
            await self._sleep(piece.duration_ms / 1000.0 / self._script.pace)

    # -- items and verdicts -------------------------------------------------------------------------------------------

    def _create_item(self, command: client.ConversationItemCreate) -> None:
        item = validate_item(command.item, images=self.sees)
        for part in item["content"]:
            if part.get("type") == "input_audio":
                part.pop("audio", None)
                if part.get("transcript") is None:
                    part["transcript"] = self._script.heard(self._turns)
                    self._turns += 1
        self._items.add(item, command.previous_item_id)

    def _append_text(self, command: client.InputTextAppend) -> None:
        if not command.text.strip():
            raise EngineError("bad_event", "text must not be empty.", param="text")
        self._check_free()
        self._items.add(user_item(new_id("item"), {"type": "input_text", "text": command.text}))
        self._start_reply(session_options(self._settings), command.text)

    def _refuse_signal(self, command: client.TurnSignal) -> None:
        raise EngineError("unsupported", "This engine takes no turn signals; use input_audio_buffer.commit.", param="event")

    def _interrupted(self, command: Interrupt) -> None:
        if command.hard:
            self._forget_input()
            return
        self._cut_by_burst = True
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._spoken_turn(waiting)

    def _dismiss(self, command: DismissInput) -> None:
        if self._burst is not None and self._waiting is None:
            at_ms = self._ear.heard * 1000 // RATE
            self._outbox.emit(server.InputAudioBufferSpeechStopped(audio_end_ms=at_ms, item_id=self._burst))
        self._forget_input()


def _words_of(item: JsonObject) -> str:
    return " ".join(str(part.get("text") or part.get("transcript") or "") for part in item["content"])
