"""What an engine's events do to a call: signals feed the floor, wire events are entered in the ledger and passed on in order."""

from typing import TYPE_CHECKING

from omnitalk.protocol import server
from omnitalk.protocol.audio_format import canonical_encoding, duration_ms
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.errors import error_event
from omnitalk.protocol.session import AudioFormat

from .exchange import EngineEvent, EngineFailed, NearEnd, NearEndText
from .held_speech import SpeechEvent
from .lane import belongs_to_response, response_of

if TYPE_CHECKING:
    from .call import Call
    from .ledger import Track

__all__ = ["EngineSide", "audio_ms"]

_DELTAS = (
    server.ResponseOutputAudioDelta,
    server.ResponseOutputAudioTranscriptDelta,
    server.ResponseOutputTextDelta,
    server.ResponseFunctionCallArgumentsDelta,
)

_OURS = (server.SessionCreated, server.SessionUpdated, server.SessionResumed, server.OmnitalkState, server.OutputAudioBufferCleared)
"""Events that only the call may say; an engine that says them too is not passed on."""

_LISTEN_AS_TURN_END = ("model_turn_completed_without_output", "auto_response_segment_complete", "continuation_limit", "silence_or_noise")
"""Reasons of a ``response.listen`` that end a turn instead of yielding to the person."""


def audio_ms(event: server.ResponseOutputAudioDelta) -> float:
    """How long this piece of sound lasts."""
    encoding = canonical_encoding(event.format, param="format")
    return duration_ms(len(event.delta), AudioFormat(encoding=encoding, rate=event.sample_rate_hz))


class EngineSide:
    """Handles engine events one at a time."""

    def __init__(self, call: "Call") -> None:
        self._call = call

    def receive(self, event: EngineEvent) -> None:
        """One event or signal."""
        call = self._call
        match event:
            case NearEnd():
                call.floor.near_end(event)
            case NearEndText():
                call.floor.near_text(event)
            case EngineFailed():
                call.say(error_event(event.code, event.message, kind="server_error"))
                call.close(event.code, message=event.message)
            case server.SessionClosed() | server.SessionExpired():
                call.close(event.reason)
            case _:
                call.lease.touch()
                self._wire_event(event)

    def _wire_event(self, event: ServerEvent) -> None:
        call = self._call
        if isinstance(event, _OURS):
            return
        if isinstance(event, SpeechEvent):
            call.floor.speech(event)
        elif belongs_to_response(event):
            self._response_event(event)
        elif isinstance(event, server.ConversationItemTruncated):
            self._truncated(event)
        else:
            if isinstance(event, server.InputAudioBufferCommitted):
                call.floor.committed(by_client=call.take_client_commit())
            elif isinstance(event, server.Error | server.InputAudioBufferCleared):
                call.floor.not_awaiting()
            call.say(event)

    def _response_event(self, event: ServerEvent) -> None:
        call = self._call
        track = self._track(event)
        sound_ms = 0.0
        if track is not None:
            if (track.cut or track.done) and isinstance(event, _DELTAS):
                call.count("deltas_dropped_after_end")
                return
            if isinstance(event, server.ResponseDone) and track.done:
                call.count("second_response_done")
                return
            if isinstance(event, server.ResponseListen) and self._yields(track, event):
                call.floor.cut([track], "model_listen")
            sound_ms = self._enter(track, event)
        if isinstance(event, server.ResponseListen):
            event.epoch = call.floor.epoch
            call.floor.not_awaiting()
        if isinstance(event, server.ResponseOutputAudioDelta) and call.floor.sounding() is None:
            call.count("replies_sounded")
        call.outbox.queue(event, sound_ms)

    def _track(self, event: ServerEvent) -> "Track | None":
        response_id = response_of(event)
        if response_id is None:
            return None
        call = self._call
        if isinstance(event, server.ResponseListen):
            return call.ledger.get(response_id)
        if isinstance(event, server.ResponseCreated) and call.ledger.get(response_id) is None:
            call.turn_id += 1
            call.floor.not_awaiting()
        return call.ledger.open(response_id)

    def _enter(self, track: "Track", event: ServerEvent) -> float:
        """Writes the event into the ledger. Returns the ms of sound that it carries."""
        match event:
            case server.ResponseOutputItemAdded():
                item_id = event.item.get("id")
                if isinstance(item_id, str) and event.item.get("type") != "function_call":
                    track.item_id = item_id
            case server.ResponseOutputAudioDelta():
                track.item_id = track.item_id or event.item_id
                added_ms = audio_ms(event)
                track.generated_ms += added_ms
                metadata = event.metadata
                if isinstance(metadata, dict) and metadata.get("end_of_turn") is True:
                    track.audio_ended = True
                return added_ms
            case server.ResponseOutputAudioDone():
                track.audio_ended = True
            case server.ResponseDone():
                track.done = True
            case _:
                pass
        return 0.0

    def _yields(self, track: "Track", event: server.ResponseListen) -> bool:
        """Whether the model gives way in the middle of a response; at the end of a turn the tail is left to play."""
        if track.cut or track.done or track.audio_ended:
            return False
        metadata = event.response.get("metadata")
        reason = metadata.get("reason") if isinstance(metadata, dict) else None
        return reason not in _LISTEN_AS_TURN_END

    def _truncated(self, event: server.ConversationItemTruncated) -> None:
        """Told once for a cut, whether by the call or by the engine."""
        track = self._call.ledger.by_item(event.item_id)
        if track is not None:
            if track.truncation_told:
                return
            track.truncation_told = track.cut
        self._call.say(event)
