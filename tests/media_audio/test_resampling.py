"""Resampling keeps its state between pieces."""

import numpy as np
import pytest
from numpy.typing import NDArray
from omnitalk.media.audio import Resampler


def tone(rate: int, seconds: float = 1.0, hertz: float = 440.0) -> NDArray[np.float32]:
    """A sine at half scale."""
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(np.float32)


def snr_db(got: NDArray[np.float32], want: NDArray[np.float32]) -> float:
    """Signal to noise over the part that both have, without the filter's edges."""
    size = min(got.size, want.size)
    edge = size // 10
    noise = got[edge : size - edge].astype(float) - want[edge : size - edge]
    return float(10 * np.log10((want[edge : size - edge].astype(float) ** 2).mean() / (noise**2).mean()))


@pytest.mark.parametrize(("source", "target"), [(48_000, 16_000), (24_000, 16_000), (16_000, 24_000), (44_100, 16_000), (8_000, 16_000)])
def test_pieces_of_20_ms_sound_like_the_whole(source: int, target: int) -> None:
    resampler = Resampler(source, target, "HQ")
    sound, step = tone(source), source // 50
    pieces = [resampler.process(sound[at : at + step]) for at in range(0, sound.size, step)]
    pieces.append(resampler.process(np.zeros(0, np.float32), last=True))
    got = np.concatenate(pieces)
    assert abs(got.size - target) <= 1
    # Converting each piece on its own gives 35 dB.
    assert snr_db(got, tone(target)) > 90.0


def test_the_quick_filter_waits_at_most_seven_milliseconds() -> None:
    resampler = Resampler(48_000, 16_000)
    got = sum(resampler.process(np.zeros(960, np.float32)).size for _ in range(50))
    assert 16_000 - got <= 0.007 * 16_000


def test_the_same_rate_passes_through() -> None:
    sound = tone(16_000)
    assert Resampler(16_000, 16_000).process(sound) is sound
