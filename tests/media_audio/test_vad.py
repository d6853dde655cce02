"""Voice-activity detection with the real model."""

import numpy as np
import pytest
from omnitalk.media.vad import FRAME, VadModel, VadStream
from omnitalk.models import path


@pytest.fixture(scope="module")
def model() -> VadModel:
    """The detector's weights, loaded once."""
    return VadModel(path("vad") / "model.onnx")


@pytest.fixture(scope="module")
def speech() -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Two seconds of a sentence at 16 kHz."""
    import soxr
    from hibari import Hibari

    sound = soxr.resample(Hibari(threads=1)("Good morning, everybody, how are you today?", seed=1), 24_000, 16_000)
    return np.asarray(sound[: sound.size // FRAME * FRAME], dtype=np.float32)


def probabilities(stream: VadStream, sound: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> list[float]:
    """The verdict on every frame."""
    return [stream(frame) for frame in sound.reshape(-1, FRAME)]


def test_speech_is_speech_and_noise_is_not(model: VadModel, speech: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
    assert np.mean(np.array(probabilities(VadStream(model), speech)) > 0.5) > 0.5
    noise = np.random.default_rng(2).normal(0, 0.05, 32 * FRAME).astype(np.float32)
    assert max(probabilities(VadStream(model), noise)) < 0.5
    assert max(probabilities(VadStream(model), np.zeros(32 * FRAME, np.float32))) < 0.3


def test_calls_do_not_disturb_each_other(model: VadModel, speech: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
    alone = probabilities(VadStream(model), speech)
    first, second = VadStream(model), VadStream(model)
    mixed = []
    for frame in speech.reshape(-1, FRAME):
        mixed.append(first(frame))
        second(frame[::-1].copy())
    assert mixed == pytest.approx(alone, abs=1e-6)


def test_reset_forgets(model: VadModel, speech: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
    stream = VadStream(model)
    once = probabilities(stream, speech)
    stream.reset()
    assert probabilities(stream, speech) == pytest.approx(once, abs=1e-6)


def test_a_frame_has_its_size(model: VadModel) -> None:
    with pytest.raises(ValueError, match="512"):
        VadStream(model)(np.zeros(100, np.float32))
