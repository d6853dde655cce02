"""The outbox: what a call says, in the order and at the pace at which a transport may say it.

Control events are journaled at once. A response's events keep their order in the lane while more sound is out than the
transport's *lead* allows, so that a cut, a duck or an error never waits behind sound, and a cut finds most of the sound still here.
"""

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import ResponseOutputAudioDelta

from .clock import Clock
from .config import CallConfig
from .journal import Entry, Journal
from .lane import Lane
from .ledger import Ledger

__all__ = ["Outbox"]


class Outbox:
    """Journal, lane and the gate between them."""

    def __init__(self, session_id: str, ledger: Ledger, config: CallConfig, clock: Clock) -> None:
        self._session_id, self._ledger, self._clock = session_id, ledger, clock
        self.journal = Journal(config.journal, clock)
        self._lane = Lane(config.journal.max_bytes)
        self._numbered = 0
        self.lead_ms: float | None = None
        self.held = False
        self.dropped_audio_ms = 0.0

    def stamp(self, event: ServerEvent) -> ServerEvent:
        """Gives an event its id and the session's."""
        self._numbered += 1
        event.event_id = f"event_{self._numbered}"
        event.session_id = self._session_id
        return event

    def say(self, event: ServerEvent) -> None:
        """Journals an event now."""
        self.journal.append(self.stamp(event))
        self._account_for_lost()

    def queue(self, event: ServerEvent, audio_ms: float = 0.0) -> None:
        """Journals a response's event in its order: now, or when the gate lets it."""
        self._lane.push(event, audio_ms)
        self._account_for_lost()
        self.pump()

    def pump(self) -> None:
        """Lets out what may go."""
        while (head := self._lane.head) is not None:
            if isinstance(head, ResponseOutputAudioDelta) and not self._open():
                return
            event, audio_ms = self._lane.pop()
            track = self._ledger.get(event.response_id) if isinstance(event, ResponseOutputAudioDelta) else None
            if track is not None:
                track.released_ms += audio_ms
            self.journal.append(self.stamp(event), audio_ms=audio_ms)
            self._account_for_lost()

    def silence(self, response_id: str) -> list[ServerEvent]:
        """Takes a response's sound out, wherever it waits. Returns its other events that had not been let out."""
        self.journal.drop_response_audio(response_id)
        return self._lane.cut(response_id)

    def abandon(self) -> None:
        """The call is over: nothing that waits will be said."""
        self._lane.clear()
        for track in self._ledger.current():
            self.journal.drop_response_audio(track.response_id)

    def next(self, cursor: int) -> Entry | None:
        """The next event for a transport at ``cursor``, counted as sent."""
        before = self._clock.now()
        entry = self.journal.next(cursor)
        if entry is not None and entry.kind == "audio" and (track := self._ledger.get(entry.response_id)) is not None:
            track.mark_sent(entry.audio_ms, before)
        return entry

    def rewind(self, cursor: int) -> None:
        """The client has seen events up to ``cursor`` and no further: the rest is sent again, and counted again."""
        for entry in self.journal.rewind(cursor):
            if entry.kind == "audio" and (track := self._ledger.get(entry.response_id)) is not None:
                self._ledger.mark_lost(track, entry.audio_ms)

    def forget_unheard(self) -> None:
        """Sound that was sent and not reported as heard is gone with the speaker that had it."""
        now = self._clock.now()
        for track in self._ledger.current():
            gone_ms = track.sent_ms - track.heard_ms(now)
            if gone_ms > 0:
                track.sent_ms -= gone_ms
                self._forget(track.response_id, gone_ms, released=True)

    def gate_deadline(self) -> float | None:
        """When the gate opens by itself, the sound playing on as estimated. None: it is open, or only the client can open it."""
        if self._lane.head is None or self.held or self.lead_ms is None or self._open():
            return None
        now = self._clock.now()
        missing_ms = self._ledger.outstanding_ms() - self.lead_ms
        if missing_ms >= sum(t.sent_ms - t.heard_ms(now) for t in self._ledger.current() if t.acked_ms is None):
            return None
        return now + missing_ms / 1000.0 + 0.001

    def unsettled(self) -> bool:
        """Whether sound waits to be let out or to be taken by a transport."""
        return self._lane.head is not None or any(t.released_ms > t.sent_ms for t in self._ledger.current())

    def _open(self) -> bool:
        if self.held:
            return False
        return self.lead_ms is None or self._ledger.outstanding_ms() < self.lead_ms

    def _account_for_lost(self) -> None:
        """Sound that was given up for want of room will never be heard: the ledger must not wait for it."""
        for response_id, audio_ms in self._lane.take_lost():
            self._forget(response_id, audio_ms, released=False)
        for response_id, audio_ms in self.journal.take_lost():
            self._forget(response_id, audio_ms, released=True)

    def _forget(self, response_id: str, audio_ms: float, *, released: bool) -> None:
        self.dropped_audio_ms += audio_ms
        track = self._ledger.get(response_id)
        if track is None:
            return
        track.generated_ms = max(0.0, track.generated_ms - audio_ms)
        track.committed_ms = min(track.committed_ms, track.generated_ms)
        if track.acked_ms is not None:
            track.acked_ms = min(track.acked_ms, track.generated_ms)
        if released:
            track.released_ms = max(0.0, track.released_ms - audio_ms)
