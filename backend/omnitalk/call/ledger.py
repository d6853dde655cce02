"""The playback ledger: how much of each response was made, sent, heard and kept in history, in ms of its sound.

A client that reports (``playback.ack``) is believed. For one that does not, the ledger plays along by the clock: sound that was
handed out is heard at the speed of time, from the moment it was handed out.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from omnitalk.protocol.session import Playback

from .clock import Clock
from .config import CallConfig

__all__ = ["Ledger", "Track"]


@dataclass(slots=True)
class Track:
    """One response's line in the ledger. Times of sound in ms from its start.

    ``released_ms``: let into the journal. ``sent_ms``: taken by a transport. ``acked_ms``: None until the client reports.
    ``audio_ended``: the engine said that no more sound comes. ``done``: the engine finished the response.
    ``cut_at_ms``: where it was cut, None while it was not. ``silenced``: the client said that it stopped playing it.
    """

    response_id: str
    item_id: str | None = None
    generated_ms: float = 0.0
    released_ms: float = 0.0
    sent_ms: float = 0.0
    acked_ms: float | None = None
    committed_ms: float = 0.0
    audio_ended: bool = False
    done: bool = False
    cut_at_ms: float | None = None
    silenced: bool = False
    truncation_told: bool = False
    progress_at: float = 0.0
    _estimate_ms: float = field(default=0.0, repr=False)
    _estimate_at: float = field(default=0.0, repr=False)

    @property
    def cut(self) -> bool:
        """Whether it was interrupted."""
        return self.cut_at_ms is not None

    def heard_ms(self, now: float) -> float:
        """What the person has heard: as reported, else as estimated."""
        if self.cut_at_ms is not None:
            return self.cut_at_ms
        return self.estimate_ms(now) if self.acked_ms is None else self.acked_ms

    def estimate_ms(self, now: float) -> float:
        """Where a speaker would be that plays what it is given at once."""
        self._estimate_ms = min(self.sent_ms, self._estimate_ms + max(0.0, now - self._estimate_at) * 1000.0)
        self._estimate_at = now
        return self._estimate_ms

    def mark_sent(self, ms: float, now: float) -> None:
        """A transport took this much more (negative: it was lost on the way and will be sent again)."""
        self.estimate_ms(now)
        self.sent_ms = max(0.0, self.sent_ms + ms)
        self._estimate_ms = min(self._estimate_ms, self.sent_ms)
        self.progress_at = now


class Ledger:
    """The tracks of a call, newest last; old ones are forgotten."""

    def __init__(self, config: CallConfig, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._tracks: OrderedDict[str, Track] = OrderedDict()
        # Those of them that are being made or heard: looked at all the time, while the others only wait for a late report.
        self._current: dict[str, Track] = {}
        self._waiting = False

    def __iter__(self) -> Iterator[Track]:
        return iter(tuple(self._tracks.values()))

    def get(self, response_id: str | None) -> Track | None:
        """The track of a response, if it is still known."""
        return None if response_id is None else self._tracks.get(response_id)

    def open(self, response_id: str) -> Track:
        """The track of a response, new when it was not known. The oldest finished one makes room."""
        track = self._tracks.get(response_id)
        if track is None:
            track = self._tracks[response_id] = Track(response_id, progress_at=self._clock.now())
            self._current[response_id] = track
            if len(self._tracks) > self._config.max_responses:
                oldest, _ = self._tracks.popitem(last=False)
                self._current.pop(oldest, None)
        return track

    def current(self) -> list[Track]:
        """Responses that are being made or heard, oldest first."""
        for track in list(self._current.values()):
            if not self.active(track) and not self.sounding(track):
                del self._current[track.response_id]
        return list(self._current.values())

    def mark_lost(self, track: Track, ms: float) -> None:
        """This much of what was sent never arrived: it will be sent again, so the response may sound again."""
        track.mark_sent(-ms, self._clock.now())
        self._revive(track)

    def wait(self, waiting: bool) -> None:
        """No report can come now: there is no socket, the call is on hold, or the listener is out of reach. Nobody has finished then."""
        if self._waiting and not waiting:
            now = self._clock.now()
            for track in self._current.values():
                track.progress_at = now
        self._waiting = waiting

    def _revive(self, track: Track) -> None:
        self._current = {each.response_id: each for each in self if each is track or each.response_id in self._current}

    def by_item(self, item_id: str | None) -> Track | None:
        """The track whose sound is this item's."""
        return None if item_id is None else next((t for t in self._tracks.values() if t.item_id == item_id), None)

    @property
    def newest(self) -> Track | None:
        """The last response of the call."""
        return next(reversed(self._tracks.values()), None)

    def ack(self, track: Track, played_ms: float, committed_ms: float | None) -> None:
        """The client's report: cumulative, so a late or repeated one changes nothing; never more than there is."""
        now = self._clock.now()
        played = min(played_ms, track.generated_ms)
        if track.acked_ms is None or played > track.acked_ms:
            track.acked_ms, track.progress_at = played, now
            if track.response_id not in self._current and self.sounding(track):
                # It was believed to have finished, and has not.
                self._revive(track)
        committed = min(played if committed_ms is None else committed_ms, track.generated_ms)
        track.committed_ms = max(track.committed_ms, committed)

    def unheard(self, track: Track) -> float:
        """Ms that were let out and not yet heard."""
        return 0.0 if track.cut or track.silenced else max(0.0, track.released_ms - track.heard_ms(self._clock.now()))

    def outstanding_ms(self) -> float:
        """Ms that were let out and not yet heard, of the responses that are still made or heard."""
        return sum(self.unheard(track) for track in self.current())

    def active(self, track: Track) -> bool:
        """Whether the engine is still at it."""
        return not track.done and not track.cut

    def sounding(self, track: Track) -> bool:
        """Whether the person hears it, or is about to."""
        if track.cut or track.silenced or track.generated_ms <= 0:
            return False
        if not (track.audio_ended or track.done):
            return True
        now = self._clock.now()
        if track.heard_ms(now) >= track.generated_ms - self._config.finished_slack_ms:
            return False
        return now < self.quiet_at(track)

    def quiet_at(self, track: Track) -> float:
        """The latest time at which a track whose sound has ended can still be sounding; inf while there is more to send or to hear of."""
        if track.sent_ms < track.generated_ms - self._config.finished_slack_ms:
            return float("inf")
        now = self._clock.now()
        if track.acked_ms is None:
            return now + (track.generated_ms - self._config.finished_slack_ms - track.heard_ms(now)) / 1000.0 + 0.001
        if self._waiting:
            return float("inf")
        return track.progress_at + (track.generated_ms - track.acked_ms) / 1000.0 + self._config.stalled_s

    def playback(self, track: Track) -> Playback:
        """The line as the wire shows it."""
        return Playback(
            generated_ms=round(track.generated_ms, 3),
            sent_ms=round(track.sent_ms, 3),
            played_ms=round(track.heard_ms(self._clock.now()), 3),
            committed_ms=round(track.committed_ms, 3),
        )
