"""Qwen3-Omni: every committed utterance is a turn of its own; the call's voice-activity gate or the client ends it.

The engine keeps the history (16 messages, 4 sounds, 8 pictures) and an interruption costs none of it, so every one is a cancel.
"""

from collections.abc import Callable
from typing import Any

from omnitalk.engines.base import EngineError, Interrupt, NearEnd
from omnitalk.media.vad import VadModel
from omnitalk.protocol import client
from omnitalk.protocol.session import SessionSettings, TurnDetection

from .intake import Piece
from .reply import Reply
from .session import OmniSession, Opened, passed_on

__all__ = ["SpeechGate", "TurnSession"]

_SILENCE_MS = 500.0
_MAX_TURN_MS = 60_000.0


class SpeechGate:
    """Ends a turn after so much silence behind so much speech. ``hear`` takes one verdict and says when a turn is over."""

    def __init__(self, settings: TurnDetection) -> None:
        self._settings = settings
        self._speech_ms = self._silence_ms = self._turn_ms = 0.0

    @property
    def speaking(self) -> bool:
        """Somebody has spoken long enough to be meant, and has not finished."""
        return self._speech_ms >= self._settings.min_speech_duration_ms

    def hear(self, verdict: NearEnd) -> bool:
        """Whether the turn ended with this frame."""
        if verdict.probability >= self._settings.threshold:
            self._speech_ms += verdict.frame_ms
            self._silence_ms = 0.0
        elif self.speaking:
            self._silence_ms += verdict.frame_ms
        else:
            self._speech_ms = 0.0
        self._turn_ms = self._turn_ms + verdict.frame_ms if self.speaking else 0.0
        if self.speaking and (self._silence_ms >= (self._settings.silence_duration_ms or _SILENCE_MS) or self._turn_ms >= _MAX_TURN_MS):
            self.restart()
            return True
        return False

    def restart(self) -> None:
        """Forget what was heard."""
        self._speech_ms = self._silence_ms = self._turn_ms = 0.0


class TurnSession(OmniSession):
    """One conversation in turns."""

    def __init__(
        self,
        session_id: str,
        settings: SessionSettings,
        opened: Opened,
        *,
        vad: VadModel | None,
        on_close: Callable[[OmniSession], None],
    ) -> None:
        super().__init__(session_id, settings, opened, vad=vad, on_close=on_close)
        self._gate = SpeechGate(settings.turn_detection) if settings.turn_detection is not None else None
        self._uncommitted_ms = 0.0

    def _append(self, command: client.InputAudioBufferAppend) -> None:
        if command.video_frames:
            raise EngineError("invalid_video_frames", "This model takes pictures as input_image items, not on sound.", param="video_frames")
        if self._held:
            return
        pieces, verdicts = self._intake.hear(command, self._settings.input_format)
        for piece in pieces:
            self._put(piece)
        over = False
        for verdict in verdicts:
            self._outbox.emit(verdict)
            over = (self._gate is not None and self._gate.hear(verdict)) or over
        if over:
            self._end_turn(respond=self._settings.turn_detection is None or self._settings.turn_detection.create_response)

    def _put(self, piece: Piece) -> None:
        self._uncommitted_ms += 100.0
        self._lane.put_sound(self._commands.AppendAudio(audio=piece.sound, format="pcm16", sample_rate_hz=16_000, is_speech=True), 100.0)

    def _end_turn(self, *, respond: bool, item_id: str | None = None) -> None:
        self._uncommitted_ms = 0.0
        self._lane.put(self._commands.Commit(final=True, create_response=respond, is_speech=True))

    def _commit(self, command: client.InputAudioBufferCommit) -> None:
        if self._uncommitted_ms < 100.0:
            raise EngineError("input_audio_buffer_empty", "Less than 100 ms of sound came since the last commit.")
        if self._gate is not None:
            self._gate.restart()
        self._end_turn(respond=command.create_response is True)

    def _clear(self, command: client.InputAudioBufferClear) -> None:
        super()._clear(command)
        self._uncommitted_ms = 0.0
        if self._gate is not None:
            self._gate.restart()

    def _create_response(self, command: client.ResponseCreate) -> None:
        if self._reply is not None:
            raise EngineError("response_already_active", f"Response {self._reply.id} is in progress.")
        self._lane.put(self._commands.CreateResponse(options=passed_on(command.response)))

    def _create_item(self, command: client.ConversationItemCreate) -> None:
        item = self._checked_item(command, images=True)
        self._items.add(item, command.previous_item_id)
        self._lane.put(self._commands.CreateItem(item=dict(item), previous_item_id=command.previous_item_id))

    def _append_text(self, command: client.InputTextAppend) -> None:
        raise EngineError("native_text_append_unsupported", "Send typed text as a conversation item to this model.", param="text")

    def _stop_model(self, command: Interrupt, reply: Reply | None) -> None:
        if command.hard:
            self._lane.forget_sound()
            self._intake.restart()
            self._lane.put(self._commands.BargeIn())
        elif reply is not None:
            self._lane.put(self._commands.CancelResponse(response_id=reply.engine_id))

    def _listened(self, event: Any) -> None:
        """Between turns this model always listens; it is not worth saying."""
