"""Where turns begin and end, frame by frame."""

import pytest
from omnitalk.engines.cascade.endpoint import AGREES, Endpointer, Moment
from omnitalk.media.vad import FRAME_MS
from omnitalk.protocol.session import TurnDetection

SPEECH, SILENCE = 0.9, 0.05


def frames(ms: float) -> int:
    """Whole frames that cover this time."""
    return -int(-ms // FRAME_MS)


class Listener:
    """Feeds frames and remembers what they brought, with the silence at that moment."""

    def __init__(self, detection: TurnDetection | None = None, *, agrees: float | None = None) -> None:
        self.endpointer = Endpointer(detection or TurnDetection())
        self.agrees = agrees
        self.moments: list[tuple[Moment, float]] = []

    def hear(self, probability: float, ms: float) -> None:
        """So much of it; the turn model answers every question at once."""
        for _ in range(frames(ms)):
            for moment in self.endpointer.step(probability):
                self.moments.append((moment, self.endpointer.silence_ms))
                if moment is Moment.ASK:
                    self.endpointer.turn_probability = self.agrees

    @property
    def names(self) -> list[Moment]:
        """Without the times."""
        return [moment for moment, _ in self.moments]

    def silence_at(self, moment: Moment) -> float:
        """Silence when it last came."""
        return [silence for found, silence in self.moments if found is moment][-1]


def test_a_click_is_no_speech() -> None:
    listener = Listener()
    listener.hear(SPEECH, 64)
    listener.hear(SILENCE, 1000)
    assert listener.names == []


def test_a_turn_ends_early_when_the_turn_model_agrees() -> None:
    listener = Listener(agrees=AGREES)
    listener.hear(SPEECH, 1000)
    listener.hear(SILENCE, 2000)
    assert listener.names == [Moment.STARTED, Moment.BET, Moment.ASK, Moment.ENDED]
    assert listener.silence_at(Moment.BET) == 96
    assert listener.silence_at(Moment.ASK) == 160
    assert listener.silence_at(Moment.ENDED) == 320


@pytest.mark.parametrize("answer", [AGREES - 0.01, None])
def test_a_turn_ends_late_when_it_does_not(answer: float | None) -> None:
    listener = Listener(agrees=answer)
    listener.hear(SPEECH, 1000)
    listener.hear(SILENCE, 2000)
    assert listener.silence_at(Moment.ENDED) == 800


def test_a_pause_inside_a_turn_loses_the_bet_and_not_the_turn() -> None:
    listener = Listener(agrees=0.1)
    listener.hear(SPEECH, 500)
    listener.hear(SILENCE, 200)
    listener.hear(SPEECH, 500)
    assert listener.endpointer.turn_probability is None
    listener.hear(SILENCE, 2000)
    bets = [Moment.BET, Moment.ASK]
    assert listener.names[:6] == [Moment.STARTED, *bets, Moment.RESUMED, *bets]
    assert listener.names.count(Moment.ENDED) == 1


def test_the_clients_own_silence_is_kept_exactly() -> None:
    listener = Listener(TurnDetection(silence_duration_ms=512), agrees=1.0)
    listener.hear(SPEECH, 500)
    listener.hear(SILENCE, 2000)
    assert listener.silence_at(Moment.ENDED) == 512


@pytest.mark.parametrize(("eagerness", "most"), [("high", 2000), ("auto", 4000), ("medium", 4000), ("low", 8000)])
def test_semantic_vad_waits_by_eagerness(eagerness: str, most: float) -> None:
    detection = TurnDetection(type="semantic_vad", eagerness=eagerness)  # type: ignore[arg-type]
    listener = Listener(detection, agrees=0.1)
    listener.hear(SPEECH, 500)
    listener.hear(SILENCE, 9000)
    assert most <= listener.silence_at(Moment.ENDED) < most + FRAME_MS


def test_the_turn_model_is_asked_again_as_the_silence_grows() -> None:
    listener = Listener(TurnDetection(type="semantic_vad", eagerness="low"), agrees=0.1)
    listener.hear(SPEECH, 500)
    listener.hear(SILENCE, 700)
    assert listener.names.count(Moment.ASK) == 2
    listener.agrees = 0.9
    listener.hear(SILENCE, 3000)
    assert listener.silence_at(Moment.ENDED) < 8000


def test_a_burst_over_a_reply_does_not_ask_the_turn_model() -> None:
    listener = Listener(agrees=None)
    listener.endpointer.fixed = True
    listener.hear(SPEECH, 300)
    listener.hear(SILENCE, 1000)
    assert listener.names == [Moment.STARTED, Moment.BET, Moment.ENDED]
    assert listener.silence_at(Moment.ENDED) == 320


def test_speech_goes_on_a_little_below_the_threshold() -> None:
    listener = Listener(TurnDetection(threshold=0.6))
    listener.hear(0.61, 300)
    listener.hear(0.5, 3000)
    assert listener.names == [Moment.STARTED]
    listener.hear(0.4, 3000)
    assert listener.names[-1] is Moment.ENDED
