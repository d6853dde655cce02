"""The bounded ring of sound, and pacing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omnitalk.media.audio import AudioRing, Pacer


def ramp(start: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Samples whose values are their positions."""
    return np.arange(start, start + count, dtype=np.float32)


@given(st.integers(1, 60), st.lists(st.one_of(st.integers(0, 200), st.tuples(st.integers(0, 2000))), max_size=40))
def test_it_always_holds_the_newest_samples(capacity: int, steps: list[int | tuple[int]]) -> None:
    ring = AudioRing(capacity)
    oldest = dropped = 0
    for step in steps:
        if isinstance(step, tuple):
            ring.forget(step[0])
            oldest = min(max(oldest, step[0]), ring.end)
        else:
            ring.write(ramp(ring.end, step))
            lost = max(0, ring.end - oldest - capacity)
            dropped += lost
            oldest += lost
        assert (ring.start, ring.end - ring.start, ring.dropped) == (oldest, len(ring), dropped)
        assert ring.slice(0, ring.end + 5).tolist() == list(range(oldest, ring.end))


def test_a_slice_is_a_copy_of_its_own() -> None:
    ring = AudioRing(8)
    ring.write(ramp(0, 8))
    taken = ring.slice(2, 5)
    ring.write(ramp(8, 8))
    assert taken.tolist() == [2.0, 3.0, 4.0]


def test_a_ring_needs_room() -> None:
    with pytest.raises(ValueError, match="capacity"):
        AudioRing(0)


def test_pacing_does_not_drift() -> None:
    pacer, now = Pacer(16_000, start=100.0), 100.0
    for _ in range(500):
        # Every wait comes back 3 ms late, as timers do.
        now += pacer.wait(320, now) + 0.003
    assert now == pytest.approx(110.0, abs=0.004)


def test_a_late_piece_does_not_wait() -> None:
    assert Pacer(16_000, start=0.0).wait(160, now=5.0) == 0.0
