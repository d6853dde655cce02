"""Our log-mel spectrogram is the one that the models were trained on."""

import numpy as np
import pytest
from omnitalk.engines.cascade.features import log_mel
from omnitalk.engines.cascade.turn import turn_features


def sound(seconds: float) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """A sweep with noise."""
    t = np.arange(int(16_000 * seconds)) / 16_000
    noise = np.random.default_rng(5).normal(0, 0.02, t.size)
    return (0.3 * np.sin(2 * np.pi * (200 + 900 * t) * t) + noise).astype(np.float32)


@pytest.mark.parametrize("seconds", [1.0, 5.0, 7.31])
def test_it_equals_the_reference_extractor(seconds: float) -> None:
    from faster_whisper.feature_extractor import FeatureExtractor

    samples = sound(seconds)
    samples = samples[: samples.size // 160 * 160]
    want = FeatureExtractor()(samples, padding=0)
    got = log_mel(samples)
    assert got.shape == want.shape
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=2e-4)


def test_the_turn_model_hears_the_last_eight_seconds_with_silence_in_front() -> None:
    from faster_whisper.feature_extractor import FeatureExtractor

    for samples in (sound(3.0), sound(11.0)):
        window = np.concatenate([np.zeros(max(0, 128_000 - samples.size), np.float32), samples])[-128_000:]
        normalised = (window - window.mean()) / np.sqrt(window.var() + 1e-7)
        got = turn_features(samples)
        assert got.shape == (80, 800)
        np.testing.assert_allclose(got, FeatureExtractor()(normalised.astype(np.float32), padding=0), atol=2e-4)
