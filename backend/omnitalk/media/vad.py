"""Silero voice-activity detection: one ONNX session for the process, a small state for every call.

The model takes 512 samples at 16 kHz with the 64 samples before them, and gives the probability that they hold speech.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .audio import Samples

__all__ = ["FRAME", "FRAME_MS", "RATE", "VadModel", "VadStream"]

RATE = 16_000
FRAME = 512
FRAME_MS = 1000.0 * FRAME / RATE
_CONTEXT = 64


class VadModel:
    """The ONNX session, shared: ``run`` is thread-safe and keeps nothing."""

    def __init__(self, path: Path) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        # One frame is 0.2 ms of work: a second thread would only spin.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._rate = np.array(RATE, np.int64)

    def run(self, samples: Samples, state: npt.NDArray[np.float32]) -> tuple[float, npt.NDArray[np.float32]]:
        """Probability of one context + frame (1 x 576), and the state after it."""
        outputs: list[Any] = self._session.run(None, {"input": samples, "state": state, "sr": self._rate})
        return float(outputs[0][0, 0]), outputs[1]


class VadStream:
    """One call's detector."""

    def __init__(self, model: VadModel) -> None:
        self._model = model
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._state = np.zeros((2, 1, 128), np.float32)
        self._context = np.zeros((1, _CONTEXT), np.float32)

    def __call__(self, frame: Samples) -> float:
        """Speech probability of the next ``FRAME`` samples at ``RATE``."""
        if frame.shape != (FRAME,):
            raise ValueError(f"a frame is {FRAME} samples, not {frame.shape}")
        samples = np.concatenate([self._context, frame[None]], axis=1)
        probability, self._state = self._model.run(samples, self._state)
        self._context = samples[:, -_CONTEXT:]
        return probability
