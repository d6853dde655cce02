"""48 kHz to 16 kHz with nothing held back."""

import numpy as np
import pytest
from omnitalk.media.decimation import Decimator


def tone(hz: float, seconds: float = 1.0) -> np.ndarray:
    return np.sin(2 * np.pi * hz * np.arange(int(48_000 * seconds)) / 48_000).astype(np.float32)


def db(samples: np.ndarray) -> float:
    return float(20 * np.log10(np.sqrt(np.mean(samples[200:] ** 2)) * np.sqrt(2)))


def test_each_piece_goes_out_at_once() -> None:
    decimator = Decimator(3)
    assert [len(decimator.process(tone(300, 0.02))) for _ in range(5)] == [320] * 5


@pytest.mark.parametrize("sizes", [[1], [2], [7, 960, 3], [960], [0, 5]])
def test_pieces_of_any_size_make_the_same_stream(sizes: list[int]) -> None:
    sound = tone(440, 0.1)
    whole = Decimator(3).process(sound)
    decimator, parts, at = Decimator(3), [], 0
    while at < len(sound):
        for size in sizes:
            parts.append(decimator.process(sound[at : at + size]))
            at += size
    assert np.allclose(np.concatenate(parts), whole, atol=1e-5)


@pytest.mark.parametrize("hz", [100, 1_000, 4_000, 6_900])
def test_speech_passes_as_it_is(hz: float) -> None:
    assert abs(db(Decimator(3).process(tone(hz)))) < 0.1


@pytest.mark.parametrize("hz", [9_100, 12_000, 15_000, 20_000])
def test_what_would_fold_back_does_not(hz: float) -> None:
    assert db(Decimator(3).process(tone(hz))) < -55.0


def test_the_delay_is_below_a_millisecond() -> None:
    click = np.zeros(960, np.float32)
    click[0] = 1.0
    assert int(np.argmax(Decimator(3).process(click))) <= 16
