"""Has the person finished? Smart Turn listens to the tune of the last eight seconds, not to the words."""

from pathlib import Path

import numpy as np

from omnitalk.media.audio import Samples

from .features import log_mel

__all__ = ["TurnModel"]

_SAMPLES = 8 * 16_000


class TurnModel:
    """Blocking (about 20 ms); run it on a worker thread."""

    def __init__(self, path: Path) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def probability(self, samples: Samples) -> float:
        """Probability that the turn in this 16 kHz sound is complete. The end of the sound is now."""
        return float(np.asarray(self._session.run(None, {"input_features": turn_features(samples)[None]})[0]).reshape(-1)[0])


def turn_features(samples: Samples) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Shape (80, 800): the last 8 s, padded with silence in front, brought to zero mean and unit variance before the spectrogram."""
    window = np.zeros(_SAMPLES, np.float32)
    tail = samples[-_SAMPLES:]
    if tail.size:
        window[-tail.size :] = tail
    normalised = (window - window.mean()) / np.sqrt(window.var() + 1e-7)
    return log_mel(normalised.astype(np.float32))
