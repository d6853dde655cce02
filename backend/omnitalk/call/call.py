"""One call, without I/O: what the client and the engine say goes in, what each is told comes out, time is handed in.

The call owns the numbering, the journal, the ledger, the interruption policy and the lease. It never waits, never raises for what
a client sent, and never touches a socket or a model.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from omnitalk.protocol import client, server
from omnitalk.protocol.base import ClientEvent, ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError, error_event
from omnitalk.protocol.session import Session, SessionSettings
from omnitalk.protocol.session_object import session_object

from .attachment import Attachment
from .client_side import ClientSide
from .clock import Clock
from .config import CallConfig
from .engine_side import EngineSide, audio_ms
from .exchange import Command, EngineEvent
from .floor import FloorControl
from .lease import Lease, new_token
from .ledger import Ledger
from .outbox import Outbox

__all__ = ["Call"]

_MAX_COMMANDS = 4_096
"""Commands that may wait to be taken. The shell takes them after every step, so this only bounds a shell that does not."""

_LOOK_EVERY_S = 0.25


class Call:
    """A call from its first socket to its end. Not thread-safe: one task at a time."""

    def __init__(
        self,
        call_id: str,
        settings: SessionSettings,
        capabilities: Mapping[str, Any] | None = None,
        *,
        clock: Clock,
        config: CallConfig | None = None,
        token: Callable[[], str] = new_token,
    ) -> None:
        config = config or CallConfig()
        self.call_id, self.settings, self.config, self.clock = call_id, settings, config, clock
        self._capabilities = dict(capabilities or {})
        self.ledger = Ledger(config, clock)
        self.outbox = Outbox(call_id, self.ledger, config, clock)
        self.lease = Lease(clock, token, grace_s=config.grace_s, idle_s=settings.idle_timeout_s)
        self.floor = FloorControl(self)
        self._client_side = ClientSide(self)
        self._engine_side = EngineSide(self)
        self._attachment: Attachment | None = None
        self._newest_attachment: Attachment | None = None
        self._commands: deque[Command] = deque()
        self.closed: str | None = None
        self.turn_id = 0
        self.counters: dict[str, float] = {}
        self.client_stats: Mapping[str, float | str | bool | None] = {}

    # -- what goes in ---------------------------------------------------------------------------------------------------

    def client_event(self, event: AnyClientEvent) -> None:
        """Something the client sent. What is wrong with it is told to the client as an ``error``."""
        if self.closed is not None:
            return
        self.lease.heard()
        self._client_side.receive(event)
        self.settle()

    def refuse(self, problem: ProtocolError) -> None:
        """Something the client sent that could not be decoded. Counts against the flood limit like an event."""
        if self.closed is not None:
            return
        self._client_side.refuse(problem)
        self.settle()

    def engine_event(self, event: EngineEvent) -> None:
        """Something the engine said."""
        if self.closed is not None:
            return
        self._engine_side.receive(event)
        self.settle()

    def command_refused(
        self, command: Command, code: str, message: str, *, param: str | None = None, kind: str | None = None, retryable: bool = False
    ) -> None:
        """The engine would not take a command: the client is told which, and settings that it refused are taken back."""
        if self.closed is not None:
            return
        event_id = command.event_id if isinstance(command, ClientEvent) else None
        self.say(error_event(code, message, param=param, event_id=event_id, kind=kind, retryable=retryable or None))
        if isinstance(command, client.SessionUpdate):
            self._client_side.take_back_update()
        self.floor.not_awaiting()
        self.settle()

    def speaker_moved(
        self, attachment: Attachment, response_id: str, played_ms: float, *, started: bool = False, stopped: bool = False
    ) -> None:
        """The transport plays the sound itself (WebRTC) and says how much of what it was given has left it.

        ``started``, ``stopped``: with the first and with the last of it.
        """
        track = self.ledger.get(response_id)
        if self.closed is not None or attachment is not self._attachment or track is None or track.cut:
            return
        start_ms = attachment.starts.get(response_id, 0.0)
        if started and start_ms < 1.0:
            self.say(server.OutputAudioBufferStarted(response_id=response_id))
        self.ledger.ack(track, start_ms + played_ms, None)
        self.floor.tell_progress(track)
        if stopped:
            self.say(server.OutputAudioBufferStopped(response_id=response_id))
        self.settle()

    def speaker_waits(self, attachment: Attachment, away: bool) -> None:
        """The transport that plays the sound itself has lost its listener, and says nothing more until he is back."""
        attachment.away = away
        self._look_for_listener()

    def tick(self) -> None:
        """Whatever is due now."""
        if self.closed is not None:
            return
        if (reason := self.lease.expired()) is not None:
            self.close(reason, expired=True)
            return
        self.floor.tick()
        self.outbox.journal.trim()
        self.settle()

    def next_deadline(self) -> float | None:
        """When ``tick`` has something to do next, in the clock's seconds. Later events may bring it forward."""
        if self.closed is not None:
            return None
        times = [self.lease.deadline(), self.floor.next_deadline()]
        if self._attachment is not None and self.outbox.unsettled():
            # A socket takes sound without a word to us, so what follows from it is looked at a few times a second.
            times += [self.outbox.gate_deadline(), self.clock.now() + _LOOK_EVERY_S]
        return min(time for time in times if time is not None)

    # -- what comes out -------------------------------------------------------------------------------------------------

    def take_commands(self) -> list[Command]:
        """What the engine is to be told, in order. Each is handed out once."""
        commands = list(self._commands)
        self._commands.clear()
        return commands

    def next_event(self, attachment: Attachment) -> ServerEvent | None:
        """The next event for this socket, or None when there is none now; ``attachment.ended`` then says whether ever."""
        while attachment.prelude:
            event = attachment.prelude.popleft()
            if not isinstance(event, server.ResponseOutputAudioDelta) or self._sends_again(attachment, event):
                return event
        if attachment.ended is not None or attachment is not self._attachment:
            return None
        journal = self.outbox.journal
        if journal.missed(attachment.cursor):
            # A reader so slow that the journal overflowed.
            # What is restated may push more out, so the place to go on from is looked up after it.
            self.floor.restate()
            attachment.cursor = journal.first_safe_cursor
            return self.outbox.stamp(server.SessionResyncRequired(reason="journal_overflow"))
        entry = self.outbox.next(attachment.cursor)
        if entry is None:
            if self.closed is not None:
                attachment.ended = "session_closed"
            return None
        attachment.cursor = entry.seq
        if isinstance(entry.event, server.ResponseOutputAudioDelta):
            self._note_start(attachment, entry.event.response_id, entry.audio_ms)
        return entry.event

    # -- sockets --------------------------------------------------------------------------------------------------------

    def attach(self, *, lead_ms: float | None = None, announce_settings: bool = True) -> Attachment:
        """The call's first socket. ``announce_settings``: it was opened by ``session.update``, which wants its ``session.updated``.

        ``lead_ms``: hand out sound only while less than this is out and unheard. Raises ``ProtocolError(session_exists)`` the second time.
        """
        if self.lease.generation:
            raise ProtocolError("session_exists", "This call was attached before; a socket that returns resumes it.")
        token = self.lease.attach()
        attachment = self._hold(Attachment(self.lease.generation, token), lead_ms)
        created = server.SessionCreated(session=self.session(), attachment_generation=self.lease.generation, resume_token=token)
        attachment.prelude.append(self.outbox.stamp(created))
        if announce_settings:
            self.say(server.SessionUpdated(session=self.session()))
        self.floor.opened()
        self.settle()
        return attachment

    def resume(self, token: str, last_seq: int, *, lead_ms: float | None = None, plays: bool = False) -> Attachment:
        """A socket that returns, or takes over from one that is still there.

        ``last_seq``: the last number that its client has seen. ``plays``: the transport itself plays the sound, so what an earlier one
        was sent and nobody reported as heard is lost. Raises ``ProtocolError``: session_resume_expired,
        invalid_resume_token, session_resume_conflict.
        """
        if self.closed is not None:
            raise ProtocolError("session_resume_expired", f"The call is over ({self.closed}).")
        self.lease.check(token)
        journal = self.outbox.journal
        if last_seq > journal.last_seq:
            raise ProtocolError(
                "session_resume_conflict",
                f"The client claims event {last_seq}, but the call has numbered {journal.last_seq}.",
                param="last_received_server_event_seq",
            )
        new_token = self.lease.attach()
        unplayed = self._take_unplayed()
        old = self._attachment
        if old is not None:
            old.prelude.append(self.outbox.stamp(server.SessionReplaced(attachment_generation=self.lease.generation)))
            old.ended = "session_replaced"
        attachment = self._hold(Attachment(self.lease.generation, new_token, cursor=last_seq), lead_ms)
        attachment.prelude.append(
            self.outbox.stamp(
                server.SessionResumed(session=self.session(), attachment_generation=self.lease.generation, resume_token=new_token)
            )
        )
        if journal.missed(last_seq):
            attachment.prelude.append(self.outbox.stamp(server.SessionResyncRequired(reason="journal_gap")))
            self.floor.restate()
            attachment.cursor = journal.first_safe_cursor
        else:
            journal.ack(last_seq)
        attachment.prelude.extend(unplayed)
        self.outbox.rewind(attachment.cursor)
        if plays:
            self.outbox.forget_unheard()
        self.settle()
        return attachment

    def detach(self, attachment: Attachment) -> None:
        """A socket is gone. The call lives on for its grace. Idempotent; a socket that was replaced changes nothing."""
        if attachment.ended is None:
            attachment.ended = "detached"
        if attachment is self._attachment:
            self._attachment = None
            self.lease.detach()
            self._look_for_listener()

    def close(self, reason: str, *, expired: bool = False, message: str | None = None) -> None:
        """Ends the call: ``session.closed`` is its last event. Idempotent."""
        if self.closed is not None:
            return
        self.outbox.abandon()
        self.floor.closing()
        if expired:
            self.say(server.SessionExpired(reason=reason))
        closed = server.SessionClosed(reason=reason)
        if message is not None:
            closed.message = message
        self.say(closed)
        self.closed = reason
        self._commands.clear()

    # -- for the call's own parts ---------------------------------------------------------------------------------------

    @property
    def attachment(self) -> Attachment | None:
        """The socket that holds the call now."""
        return self._attachment

    def say(self, event: ServerEvent) -> None:
        """Tells the client something, now."""
        self.outbox.say(event)

    def command(self, command: Command) -> None:
        """Tells the engine something."""
        if len(self._commands) >= _MAX_COMMANDS:
            self._drop_oldest_command()
        self._commands.append(command)

    def take_client_commit(self) -> bool:
        """Whether a commit that the engine reports is one that the client asked for."""
        return self._client_side.take_commit()

    def count(self, name: str, by: float = 1.0) -> None:
        """Counts something that a metric shows."""
        self.counters[name] = self.counters.get(name, 0.0) + by

    def settle(self) -> None:
        """Follows up on whatever just happened: lets sound out, notices who has the floor, tells the state."""
        self._look_for_listener()
        self.outbox.pump()
        if self.closed is None:
            self.floor.settle()

    def session(self) -> Session:
        """The session as the wire shows it now."""
        newest = self.ledger.newest
        active = newest is not None and self.ledger.active(newest)
        return session_object(
            self.settings,
            session_id=self.call_id,
            capabilities=self._capabilities,
            state="open" if self.closed is None else "closed",
            turn_state=self.floor.state,
            epoch=self.floor.epoch,
            turn_id=self.turn_id,
            active_response_id=newest.response_id if newest is not None and active else None,
            playback=None if newest is None else self.ledger.playback(newest),
        )

    def _look_for_listener(self) -> None:
        self.ledger.wait(self._attachment is None or self._attachment.away or self.floor.on_hold)

    def _hold(self, attachment: Attachment, lead_ms: float | None) -> Attachment:
        self._attachment = self._newest_attachment = attachment
        self.outbox.lead_ms = lead_ms
        return attachment

    def _take_unplayed(self) -> list[ServerEvent]:
        """Sound that the last transport was given and has not played: it is sent again, before anything newer."""
        last = self._newest_attachment
        if last is None or last.take_unplayed is None:
            return []
        unplayed = last.take_unplayed()
        for event in unplayed:
            if (track := self.ledger.get(event.response_id)) is not None:
                self.ledger.mark_lost(track, audio_ms(event))
        return [self.outbox.stamp(event) for event in unplayed]

    def _sends_again(self, attachment: Attachment, event: server.ResponseOutputAudioDelta) -> bool:
        """Counts sound that goes out a second time; False: it was cut meanwhile."""
        track = self.ledger.get(event.response_id)
        if track is None or track.cut:
            return False
        track.mark_sent(audio_ms(event), self.clock.now())
        self._note_start(attachment, event.response_id, audio_ms(event))
        return True

    def _note_start(self, attachment: Attachment, response_id: str, sent_ms: float) -> None:
        if attachment.take_unplayed is None or (track := self.ledger.get(response_id)) is None:
            return
        attachment.starts.setdefault(response_id, track.sent_ms - sent_ms)
        if len(attachment.starts) > self.config.max_responses:
            attachment.starts.pop(next(iter(attachment.starts)))

    def _drop_oldest_command(self) -> None:
        """Microphone sound goes first; without any, the oldest command."""
        for index, command in enumerate(self._commands):
            if isinstance(command, client.InputAudioBufferAppend):
                del self._commands[index]
                break
        else:
            self._commands.popleft()
        self.count("commands_dropped")
