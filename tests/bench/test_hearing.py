"""Where a sound in a recording lies on the wall's clock, when the recording's own clock stood still for a while."""

import base64
from typing import Any

import numpy as np
import pytest
from omnitalk.bench.cut import last_sound_ms
from omnitalk.bench.hearing import Recording

RATE = 48_000
EPOCH = 1_700_000_000_000.0


def record(tone_ms: tuple[float, float], *, stall_at_ms: float = 3_000.0, stall_ms: float = 80.0) -> dict[str, Any]:
    """Six seconds, rendered in real time but for one stall; each message is 1 to 30 ms late. ``tone_ms``: by the wall."""
    dice = np.random.default_rng(2)

    def place(wall_ms: float) -> float:
        return wall_ms if wall_ms < stall_at_ms else wall_ms - stall_ms

    samples = np.zeros(6 * RATE, "<i2")
    samples[int(place(tone_ms[0]) * 48) : int(place(tone_ms[1]) * 48)] = 8_000
    marks = []
    for frame in range(0, 6 * RATE, 1_024):
        at_ms = 1000.0 * frame / RATE
        marks.append([frame + 5_000, EPOCH + at_ms + (stall_ms if at_ms >= stall_at_ms else 0.0) + 1.0 + float(dice.exponential(6.0))])
    silence = base64.b64encode(bytes(len(samples) * 2)).decode()
    return {"rate": RATE, "firstFrame": 5_000, "wallMs": marks, "pcm": base64.b64encode(samples.tobytes()).decode(), "microphone": silence}


@pytest.mark.parametrize("decided_ms", [1_500.0, 5_000.0])
def test_how_long_it_sounded_after_a_moment_is_true_before_and_after_a_stall(decided_ms: float) -> None:
    recording = Recording(record((decided_ms - 400, decided_ms + 25)))
    assert last_sound_ms(recording, EPOCH + decided_ms) == pytest.approx(25, abs=2.5)


def test_places_are_told_by_the_wall() -> None:
    recording = Recording(record((0, 1)))
    assert recording.wall_ms(np.array([1_000.0, 5_000.0])) - EPOCH == pytest.approx([1_000.0, 5_080.0], abs=2.5)


def test_a_cut_of_nothing_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="Nothing sounded"):
        last_sound_ms(Recording(record((500, 800))), EPOCH + 2_000)
