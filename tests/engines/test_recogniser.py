"""The recogniser with the real model: what it hears, and what it makes of noise and of long sound."""

import numpy as np
import pytest
from omnitalk.engines.cascade.asr import SpeechRecogniser
from omnitalk.media.audio import Samples
from omnitalk.models import path

SENTENCE = "The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def recogniser() -> SpeechRecogniser:
    """Loaded once."""
    return SpeechRecogniser(path("asr"))


@pytest.fixture(scope="module")
def speech() -> Samples:
    """The sentence at 16 kHz."""
    import soxr
    from hibari import Hibari

    return np.asarray(soxr.resample(Hibari(threads=1)(SENTENCE, seed=1), 24_000, 16_000), dtype=np.float32)


def test_a_sentence(recogniser: SpeechRecogniser, speech: Samples) -> None:
    assert recogniser.transcribe(speech).text.lower().startswith("the quick brown fox jumps over the lazy dog")


@pytest.mark.parametrize("level", [0.0, 0.001, 0.05])
def test_noise_has_no_words(recogniser: SpeechRecogniser, level: float) -> None:
    noise = np.random.default_rng(4).normal(0, level, 16_000).astype(np.float32) if level else np.zeros(16_000, np.float32)
    assert recogniser.transcribe(noise).text == ""


def test_next_to_nothing_has_no_words(recogniser: SpeechRecogniser) -> None:
    assert recogniser.transcribe(np.zeros(100, np.float32)).text == ""


def test_more_than_half_a_minute_is_heard_to_its_end(recogniser: SpeechRecogniser, speech: Samples) -> None:
    filler = np.concatenate([speech, np.zeros(8_000, np.float32)])
    long = np.tile(filler, 45 * 16_000 // filler.size)
    text = recogniser.transcribe(long).text.lower()
    assert text.count("fox") >= 2
    assert text.rstrip(" .").endswith("lazy dog")
