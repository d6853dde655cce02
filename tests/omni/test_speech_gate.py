"""Qwen3-Omni's turns: the gate ends one after enough silence behind enough speech."""

from omnitalk.engines.base import NearEnd
from omnitalk.engines.omni.turns import SpeechGate
from omnitalk.protocol.session import TurnDetection


def ends(gate: SpeechGate, plan: str) -> list[int]:
    """Indices of the frames (32 ms) with which a turn ended; ``x`` speech, ``.`` silence."""
    return [
        index
        for index, what in enumerate(plan)
        if gate.hear(NearEnd(probability=0.9 if what == "x" else 0.1, level_dbfs=-20.0, at_ms=32.0 * index, frame_ms=32.0))
    ]


def test_silence_ends_a_turn_once() -> None:
    gate = SpeechGate(TurnDetection(silence_duration_ms=320))
    assert ends(gate, "x" * 20 + "." * 30) == [29]


def test_a_pause_in_a_sentence_ends_nothing() -> None:
    gate = SpeechGate(TurnDetection(silence_duration_ms=320))
    assert ends(gate, "x" * 20 + "." * 8 + "x" * 10 + "." * 9) == []


def test_a_click_is_no_turn() -> None:
    gate = SpeechGate(TurnDetection(silence_duration_ms=320, min_speech_duration_ms=96))
    assert ends(gate, "xx" + "." * 40) == []


def test_an_endless_turn_is_ended() -> None:
    gate = SpeechGate(TurnDetection())
    assert ends(gate, "x" * 2_000)
