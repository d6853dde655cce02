"""The ruler that latencies are measured with."""

import numpy as np
import pytest
from omnitalk.bench.chirps import chirp, onsets_ms, pair_up


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("delay_ms", [0.0, 12.3, 87.6])
def test_a_chirp_is_found_to_half_a_millisecond_at_any_rate(rate: int, delay_ms: float) -> None:
    random = np.random.default_rng(3)
    sound = random.normal(0, 1e-3, 4 * rate).astype(np.float32)
    places = [0.5, 1.9, 3.2]
    for place in places:
        start = round((place + delay_ms / 1000) * rate)
        shape = chirp(rate)
        sound[start : start + len(shape)] += 0.3 * shape.astype(np.float32)
    found = onsets_ms(sound, rate)
    assert len(found) == 3
    assert np.allclose(found, [1000 * place + delay_ms for place in places], atol=0.5)


def test_a_chirp_turned_upside_down_is_where_it_was() -> None:
    sound = np.zeros(48_000, np.float32)
    sound[12_000 : 12_000 + len(chirp())] -= chirp().astype(np.float32)
    assert np.allclose(onsets_ms(sound, 48_000), [250.0], atol=0.5)


def test_silence_has_no_chirps_and_lost_ones_are_left_out() -> None:
    assert len(onsets_ms(np.zeros(48_000, np.float32), 48_000)) == 0
    assert list(pair_up(np.array([0.0, 1000.0, 2000.0]), np.array([90.0, 2091.0]), 500.0)) == [90.0, 91.0]
