"""Where a turn begins and ends, from voice-activity probabilities. Pure: time is counted in frames."""

from enum import Enum, auto

from omnitalk.media.vad import FRAME_MS
from omnitalk.protocol.session import TurnDetection

__all__ = ["Endpointer", "Moment"]

BET_MS = 96.0
"""Silence after which recognition starts, betting that the turn is over. Most bets inside a sentence are lost, and cheap."""

ASK_MS = 160.0
"""Silence after which the turn model is asked; with less it has too little to hear. Asked again as the silence grows."""

END_AGREED_MS = 320.0
"""Silence that ends a turn when the turn model agrees."""

END_MAX_MS = 800.0
"""Silence that ends a turn whatever the turn model says (server_vad)."""

SEMANTIC_MAX_MS = {"low": 8_000.0, "medium": 4_000.0, "auto": 4_000.0, "high": 2_000.0}
"""The same for semantic_vad, by eagerness: OpenAI's figures."""

AGREES = 0.5
_HYSTERESIS = 0.15
"""Speech goes on until the probability falls this far below the threshold that began it."""


class Moment(Enum):
    """What a frame brought. ``BET``: recognise now; ``ASK``: ask the turn model; ``RESUMED``: speech after a silence that was bet on."""

    STARTED = auto()
    BET = auto()
    ASK = auto()
    RESUMED = auto()
    ENDED = auto()


class Endpointer:
    """Call ``step`` for every frame. ``turn_probability`` is set from outside when the turn model has answered the latest ``ASK``.

    ``fixed`` (a burst over a reply) ends at ``END_AGREED_MS`` of silence without asking the turn model.
    """

    def __init__(self, settings: TurnDetection) -> None:
        self._threshold = settings.threshold
        self._release = max(0.05, settings.threshold - _HYSTERESIS)
        self._min_speech_ms = max(FRAME_MS, float(settings.min_speech_duration_ms))
        self._silence_ms = settings.silence_duration_ms
        self._max_ms = SEMANTIC_MAX_MS[settings.eagerness] if settings.type == "semantic_vad" else END_MAX_MS
        self.reset()

    def reset(self) -> None:
        """Wait for a new turn."""
        self.speaking = False
        self.fixed = False
        self.turn_probability: float | None = None
        self.silence_ms = 0.0
        self.speech_ms = 0.0
        self._bet = False
        self._next_ask_ms = ASK_MS

    def step(self, probability: float) -> list[Moment]:
        """What this frame brought, in order."""
        if not self.speaking:
            return self._outside(probability)
        if probability >= self._release:
            moments = [Moment.RESUMED] if self._bet else []
            self._speech_heard()
            self.speech_ms += FRAME_MS
            return moments
        self.silence_ms += FRAME_MS
        moments = []
        if not self._bet and self.silence_ms >= BET_MS:
            self._bet = True
            moments.append(Moment.BET)
        if self.silence_ms >= self._next_ask_ms and not self.fixed:
            self._next_ask_ms *= 4
            moments.append(Moment.ASK)
        if self._over():
            moments.append(Moment.ENDED)
            self.speaking = False
        return moments

    def _outside(self, probability: float) -> list[Moment]:
        if probability < self._threshold:
            self.speech_ms = 0.0
            return []
        self.speech_ms += FRAME_MS
        if self.speech_ms < self._min_speech_ms:
            return []
        self.speaking = True
        self._speech_heard()
        return [Moment.STARTED]

    def _speech_heard(self) -> None:
        self.silence_ms, self._bet, self._next_ask_ms, self.turn_probability = 0.0, False, ASK_MS, None

    def _over(self) -> bool:
        if self._silence_ms is not None:
            return self.silence_ms >= max(self._silence_ms, FRAME_MS)
        if self.fixed:
            return self.silence_ms >= END_AGREED_MS
        agreed = self.turn_probability is not None and self.turn_probability >= AGREES
        return self.silence_ms >= (END_AGREED_MS if agreed else self._max_ms)
