"""What a session says to a vLLM-Omni server, one class an event; ``wire`` is the JSON object. Names and fields are the server's own."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = [
    "AckPlayback",
    "AppendAudio",
    "BargeIn",
    "CancelResponse",
    "ClearInput",
    "Command",
    "Commit",
    "CreateItem",
    "CreateResponse",
    "Heartbeat",
    "SignalTurn",
    "UpdateSession",
]


@dataclass(frozen=True, kw_only=True)
class Command:
    """Fields that are None are left out."""

    type: ClassVar[str]

    def wire(self) -> dict[str, Any]:
        """The event."""
        return {"type": self.type, **{name: value for name, value in self._fields().items() if value is not None}}

    def _fields(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class AppendAudio(Command):
    """``audio``: bytes in ``format``; ``video_frames``: base64 pictures; ``hints`` are sent beside them."""

    type = "input_audio_buffer.append"
    audio: bytes
    format: str = "pcm16"
    sample_rate_hz: int | None = None
    is_speech: bool | None = None
    video_frames: tuple[str, ...] = ()
    hints: Mapping[str, object] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        return {
            "audio": base64.b64encode(self.audio).decode(),
            "format": self.format,
            "sample_rate_hz": self.sample_rate_hz,
            "is_speech": self.is_speech,
            "video_frames": list(self.video_frames) or None,
            **self.hints,
        }


@dataclass(frozen=True, kw_only=True)
class Commit(Command):
    """The turn is over."""

    type = "input_audio_buffer.commit"
    final: bool = True
    create_response: bool | None = None
    is_speech: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ClearInput(Command):
    """Forget uncommitted sound."""

    type = "input_audio_buffer.clear"


@dataclass(frozen=True, kw_only=True)
class CreateResponse(Command):
    """Answer now."""

    type = "response.create"
    options: Mapping[str, object] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        return {"response": dict(self.options)}


@dataclass(frozen=True, kw_only=True)
class CancelResponse(Command):
    """Stop this response."""

    type = "response.cancel"
    response_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class BargeIn(Command):
    """Stop, hard: a native model forgets the call."""

    type = "barge_in"


@dataclass(frozen=True, kw_only=True)
class CreateItem(Command):
    """A conversation item."""

    type = "conversation.item.create"
    item: Mapping[str, object]
    previous_item_id: str | None = None

    def _fields(self) -> dict[str, Any]:
        return {"item": dict(self.item), "previous_item_id": self.previous_item_id}


@dataclass(frozen=True, kw_only=True)
class UpdateSession(Command):
    """A change of settings."""

    type = "session.update"
    patch: Mapping[str, object]

    def _fields(self) -> dict[str, Any]:
        return {"session": dict(self.patch)}


@dataclass(frozen=True, kw_only=True)
class SignalTurn(Command):
    """A turn transition that the client saw."""

    type = "turn.signal"
    event: str
    signal_payload: Mapping[str, object] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        return {"event": self.event, "payload": dict(self.signal_payload)}


@dataclass(frozen=True, kw_only=True)
class AckPlayback(Command):
    """What was heard, ms."""

    type = "playback.ack"
    played_ms: int
    committed_ms: int | None = None
    response_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Heartbeat(Command):
    """Keeps the session."""

    type = "session.heartbeat"
