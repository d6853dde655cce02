"""What a client's events do to a call: answered here, or turned into commands for the engine."""

from typing import TYPE_CHECKING

import msgspec

from omnitalk.protocol import client, server
from omnitalk.protocol.audio_format import check_audio
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError, error_event
from omnitalk.protocol.session import SessionSettings
from omnitalk.protocol.settings import apply

from .exchange import Interrupt
from .flood import TokenBucket
from .ledger import Track

if TYPE_CHECKING:
    from .call import Call

__all__ = ["ClientSide"]

_COMPLAIN_EVERY_S = 1.0
_MAX_STATS = 64

_FOR_THE_ENGINE = (
    client.InputAudioBufferClear,
    client.ConversationItemCreate,
    client.ConversationItemRetrieve,
    client.ConversationItemDelete,
    client.TurnSignal,
    client.InputTextAppend,
    client.OmnitalkMute,
)


class ClientSide:
    """Handles client events one at a time."""

    def __init__(self, call: "Call") -> None:
        self._call = call
        self._bucket = TokenBucket(call.config.events_per_s, call.config.burst, call.clock)
        self._complained_at = float("-inf")
        self._before_update: SessionSettings | None = None
        self._commits = 0

    def receive(self, event: AnyClientEvent) -> None:
        """One event. A refusal is told to the client."""
        try:
            if self._admits(event):
                self._handle(event)
        except ProtocolError as problem:
            problem.event_id = problem.event_id or event.event_id
            self._call.say(problem.to_event())

    def refuse(self, problem: ProtocolError) -> None:
        """One event that could not be decoded."""
        if self._take_token():
            self._call.say(problem.to_event())

    def take_back_update(self) -> None:
        """The engine refused the last ``session.update``."""
        if self._before_update is not None:
            self._set(self._before_update)
            self._before_update = None

    def take_commit(self) -> bool:
        """Whether a commit of the client's is still unanswered; answers it."""
        asked = self._commits > 0
        self._commits = max(0, self._commits - 1)
        return asked

    # -- the flood limit ------------------------------------------------------------------------------------------------

    def _admits(self, event: AnyClientEvent) -> bool:
        """An acknowledgement of something new is free: there are only as many of them as events that we sent."""
        if isinstance(event, client.SessionEventAck) and event.server_event_seq > self._call.outbox.journal.acked_through:
            return True
        return self._take_token()

    def _take_token(self) -> bool:
        if self._bucket.take():
            return True
        call = self._call
        call.count("events_refused")
        now = call.clock.now()
        if now - self._complained_at >= _COMPLAIN_EVERY_S:
            self._complained_at = now
            rate = call.config.events_per_s
            message = f"More than {rate:g} events a second: events are being dropped. Send fewer, larger ones."
            call.say(error_event("rate_limit_exceeded", message, retryable=True))
        return False

    # -- one by one -----------------------------------------------------------------------------------------------------

    def _handle(self, event: AnyClientEvent) -> None:
        call = self._call
        match event:
            case client.InputAudioBufferAppend():
                self._append(event)
            case client.PlaybackAck():
                self._playback_ack(event)
            case client.SessionEventAck():
                self._event_ack(event)
            case client.SessionHeartbeat():
                call.say(server.SessionHeartbeatAck())
            case client.SessionUpdate():
                self._before_update = call.settings
                self._set(apply(call.settings, event.session))
                call.command(event)
            case client.InputAudioBufferCommit():
                self._commits += 1
                if event.create_response:
                    call.floor.awaiting()
                call.command(event)
            case client.ResponseCreate():
                call.floor.awaiting()
                call.command(event)
            case client.ResponseCancel():
                self._cancel(event)
            case client.OutputAudioBufferClear():
                self._clear_output(event)
            case client.BargeIn() | client.InputCancel():
                call.floor.cut(call.floor.live(), "barge_in")
                call.command(client.InputAudioBufferClear())
            case client.OmnitalkInterrupt():
                self._interrupt(event)
            case client.ConversationItemTruncate():
                self._truncate(event)
            case client.OmnitalkHold():
                call.floor.hold(event.held)
                call.command(event)
            case client.OmnitalkClientStats():
                call.client_stats = dict(list(event.stats.items())[:_MAX_STATS])
            case client.SessionClose():
                call.close(event.reason)
            case client.SessionResume():
                raise ProtocolError("invalid_session_resume", "session.resume is the first event of a socket, not a later one.")
            case client.OmnitalkQueueLeave():
                raise ProtocolError("bad_event", "This call does not wait in line; end it with session.close.")
            case _:
                assert isinstance(event, _FOR_THE_ENGINE)
                call.command(event)

    def _append(self, event: client.InputAudioBufferAppend) -> None:
        call = self._call
        if call.floor.on_hold:
            call.count("appends_dropped_on_hold")
            return
        encoding = call.settings.input_format.encoding if event.format is UNSET else event.format
        check_audio(event.audio, str(encoding))
        if event.overlap_action == "barge_in" or event.force_barge_in is True:
            call.floor.cut(call.floor.live(), "barge_in")
        call.command(event)

    def _event_ack(self, event: client.SessionEventAck) -> None:
        attachment = self._call.attachment
        if attachment is not None and event.server_event_seq > attachment.cursor:
            raise ProtocolError(
                "invalid_event_ack",
                f"Event {event.server_event_seq} was not sent yet; the last one is {attachment.cursor}.",
                param="server_event_seq",
            )
        self._call.outbox.journal.ack(event.server_event_seq)

    def _playback_ack(self, event: client.PlaybackAck) -> None:
        call = self._call
        track = self._ack_target(event)
        if track is None:
            # Nothing was said yet. A client that reports zero by a timer is not wrong.
            call.say(server.PlaybackAcknowledged(event={"type": "playback.acknowledged", "item_id": None, "history_committed": False}))
            return
        call.ledger.ack(track, event.played_ms, event.committed_ms)
        call.say(
            server.PlaybackAcknowledged(
                event={
                    "type": "playback.acknowledged",
                    "session_id": call.call_id,
                    "response_id": track.response_id,
                    "item_id": track.item_id,
                    "played_ms": track.acked_ms,
                    "committed_ms": track.committed_ms,
                    "truncate": False,
                    "playback": msgspec.to_builtins(call.ledger.playback(track)),
                    "history_committed": track.committed_ms > 0,
                }
            )
        )
        call.floor.tell_progress(track)

    def _ack_target(self, event: client.PlaybackAck) -> Track | None:
        """By response, by item, or without either the response that sounds, else the newest."""
        ledger = self._call.ledger
        if event.response_id is not None:
            track = ledger.get(event.response_id)
            if track is None:
                raise ProtocolError("playback_item_not_found", f"There is no response {event.response_id!r}.", param="response_id")
            if event.item_id is not None and track.item_id is not None and event.item_id != track.item_id:
                raise ProtocolError(
                    "playback_item_mismatch", f"Response {event.response_id!r} has the item {track.item_id!r}.", param="item_id"
                )
            return track
        if event.item_id is not None:
            track = ledger.by_item(event.item_id)
            if track is None:
                raise ProtocolError("playback_item_not_found", f"No response has the item {event.item_id!r}.", param="item_id")
            return track
        return self._call.floor.sounding() or ledger.newest

    def _cancel(self, event: client.ResponseCancel) -> None:
        floor = self._call.floor
        targets = [track for track in floor.live() if event.response_id in (None, track.response_id)]
        if not targets:
            what = "No response is in progress" if event.response_id is None else f"Response {event.response_id!r} is not in progress"
            raise ProtocolError("response_not_active", f"{what}.", param=None if event.response_id is None else "response_id")
        floor.not_awaiting()
        floor.cut(targets, "client_cancelled")

    def _clear_output(self, event: client.OutputAudioBufferClear) -> None:
        floor = self._call.floor
        if event.response_id is not None and self._call.ledger.get(event.response_id) is None:
            raise ProtocolError("response_not_active", f"There is no response {event.response_id!r}.", param="response_id")
        targets = [track for track in floor.live() if event.response_id in (None, track.response_id)]
        newest = self._call.ledger.get(event.response_id) or self._call.ledger.newest
        if targets:
            floor.cut(targets, "output_audio_buffer_clear")
        elif newest is not None:
            # It is silent already, and the client waits to be told so.
            self._call.say(server.OutputAudioBufferCleared(response_id=newest.response_id, reason="output_audio_buffer_clear"))

    def _interrupt(self, event: client.OmnitalkInterrupt) -> None:
        call = self._call
        live, newest = call.floor.live(), call.ledger.newest
        if live:
            call.floor.cut(live, "barge_in", hard=event.hard)
        elif event.hard and newest is not None:
            heard = newest.heard_ms(call.clock.now())
            call.command(Interrupt(response_id=newest.response_id, heard_ms=heard, reason="barge_in", hard=True))

    def _truncate(self, event: client.ConversationItemTruncate) -> None:
        """The client says where it stopped playing: it is believed, and the engine cuts the item's text."""
        call = self._call
        track = call.ledger.by_item(event.item_id)
        if track is not None:
            call.ledger.ack(track, event.audio_end_ms, event.audio_end_ms)
            track.silenced = track.silenced or track.done
            track.truncation_told = False
        call.command(event)

    def _set(self, settings: SessionSettings) -> None:
        self._call.settings = settings
        self._call.lease.idle_s = settings.idle_timeout_s
        self._call.say(server.SessionUpdated(session=self._call.session()))
