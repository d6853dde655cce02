"""The interruption policy: when a response is ducked, cut or left alone.

Three sources speak to it: near-end sound (VAD frames, and the words of a burst), the model's own mid-response ``listen``, and the
person. It answers with effects and holds no reference to the call, the engine or the wire.

Near-end sound goes through three phases: *quiet*, *burst* (ducked; voice is being counted) and *verdict* (ducked; the burst ended
and its words are awaited).
"""

from dataclasses import dataclass
from typing import Literal

from .clock import Clock
from .config import InterruptionConfig
from .exchange import NearEnd, NearEndText
from .verdict import judge

__all__ = ["Cut", "Duck", "Effect", "Floor", "InterruptionPolicy", "Restore"]


@dataclass(frozen=True, slots=True)
class Floor:
    """Who has the floor. ``taken``: a response is being made or heard. ``sounding``: it is heard. ``may_cut``: speech may end it."""

    taken: bool
    sounding: bool
    may_cut: bool


@dataclass(frozen=True, slots=True)
class Duck:
    """Lower the speaker."""


@dataclass(frozen=True, slots=True)
class Restore:
    """It was no interruption. ``unduck``: the speaker comes back. ``item_id``: the burst that was judged, None = all of them."""

    reason: Literal["noise", "backchannel", "no_verdict", "not_detecting", "floor_free"]
    unduck: bool = True
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The person takes the floor."""

    reason: Literal["turn_detected"] = "turn_detected"


Effect = Duck | Restore | Cut


class InterruptionPolicy:
    """Counts voice, waits for words, decides. Voice is counted in frames, not by the clock, so late frames do not matter."""

    def __init__(self, config: InterruptionConfig, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._phase: Literal["quiet", "burst", "verdict"] = "quiet"
        self._voiced_ms = 0.0
        self._gap_ms = 0.0
        self._deadline = 0.0
        # A loud noise that goes on (a vacuum cleaner) ducks once, not for ever in turns.
        self._droning = False
        self.ducked = False

    @property
    def pending(self) -> bool:
        """Whether a burst is going on or waits for its words."""
        return self._phase != "quiet"

    def near_end(self, frame: NearEnd, floor: Floor) -> list[Effect]:
        """One VAD frame."""
        if not floor.taken:
            return self.floor_freed()
        config = self._config
        voiced = frame.probability >= config.speech_probability and frame.level_dbfs >= config.floor_dbfs
        loud = frame.level_dbfs >= config.loud_dbfs
        if self._phase != "burst":
            if not voiced and (not loud or self._droning):
                self._droning = self._droning and loud
                return []
            self._phase, self._voiced_ms, self._gap_ms = "burst", 0.0, 0.0
        self._deadline = self._clock.now() + config.stale_s
        if voiced:
            self._voiced_ms += frame.frame_ms
            self._gap_ms = 0.0
        else:
            self._gap_ms += frame.frame_ms
        if floor.may_cut and self._voiced_ms >= config.cut_after_ms:
            self._reset()
            return [Cut()]
        if self._gap_ms >= config.gap_ms:
            self._droning = loud
            return self._burst_ended(floor.may_cut)
        return self._duck(floor)

    def near_text(self, said: NearEndText, floor: Floor) -> list[Effect]:
        """The words of a burst that ended. Always answered: with ``Cut`` or ``Restore``."""
        verdict = judge(said.text, said.duration_ms)
        if verdict == "words" and floor.may_cut:
            self._reset()
            return [Cut()]
        if verdict == "backchannel" and floor.may_cut and not floor.taken:
            # The response ended meanwhile: "yes" is now an answer.
            self._reset()
            return [Cut()]
        going_on = self._phase == "burst"
        if not going_on:
            self._phase = "quiet"
        reason: Literal["noise", "backchannel", "not_detecting"] = "not_detecting" if verdict == "words" else verdict
        return [Restore(reason, unduck=not going_on and self._unduck(), item_id=said.item_id)]

    def tick(self, floor: Floor) -> list[Effect]:
        """Timers: a burst whose frames stopped coming, a verdict that did not come."""
        if self._phase == "quiet" or self._clock.now() < self._deadline:
            return []
        if self._phase == "burst":
            return self._burst_ended(floor.may_cut)
        self._phase = "quiet"
        return [Restore("no_verdict", unduck=self._unduck())]

    def next_deadline(self) -> float | None:
        """When ``tick`` has something to do."""
        return None if self._phase == "quiet" else self._deadline

    def sound_began(self, floor: Floor) -> list[Effect]:
        """A response began to sound; if the person is speaking, it begins ducked."""
        return self._duck(floor) if self._phase == "burst" and floor.sounding else []

    def floor_freed(self) -> list[Effect]:
        """Nothing is being said any more: there is nothing to protect."""
        if self._phase == "quiet" and not self.ducked:
            return []
        self._phase = "quiet"
        return [Restore("floor_free", unduck=self._unduck())]

    def reset(self) -> bool:
        """Forgets everything (the response was cut, the call is held). True when the speaker was ducked."""
        return self._reset()

    def _burst_ended(self, may_cut: bool) -> list[Effect]:
        if may_cut and self._voiced_ms >= self._config.shortest_word_ms:
            self._phase = "verdict"
            self._deadline = self._clock.now() + self._config.verdict_s
            return []
        self._phase = "quiet"
        return [Restore("noise" if may_cut else "not_detecting", unduck=self._unduck())]

    def _duck(self, floor: Floor) -> list[Effect]:
        if self.ducked or not floor.sounding:
            return []
        self.ducked = True
        return [Duck()]

    def _unduck(self) -> bool:
        was, self.ducked = self.ducked, False
        return was

    def _reset(self) -> bool:
        self._phase = "quiet"
        return self._unduck()
