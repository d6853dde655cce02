"""Whisper's log-mel spectrogram, which both the recogniser and the turn model read.

80 mel bands (Slaney's scale and area normalisation, 0 to 8 kHz) of a 25 ms Hann window every 10 ms at 16 kHz.
"""

import functools

import numpy as np
import numpy.typing as npt

from omnitalk.media.audio import Samples

__all__ = ["HOP", "log_mel"]

RATE = 16_000
WINDOW = 400
HOP = 160
BANDS = 80


def _mel_to_hz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Slaney: linear (200/3 Hz a mel) up to 1 kHz = 15 mel, then 27 mels for every factor of 6.4."""
    return np.where(mel < 15.0, mel * (200.0 / 3.0), 1000.0 * np.power(6.4, (mel - 15.0) / 27.0))


@functools.cache
def _filters() -> npt.NDArray[np.float32]:
    top = 15.0 + 27.0 * np.log(RATE / 2 / 1000.0) / np.log(6.4)
    edges = _mel_to_hz(np.linspace(0.0, top, BANDS + 2))
    bins = np.linspace(0.0, RATE / 2, WINDOW // 2 + 1)
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return (np.clip(np.minimum(rise, fall), 0.0, None) * area[:, None]).astype(np.float32)


@functools.cache
def _window() -> npt.NDArray[np.float32]:
    return np.hanning(WINDOW + 1)[:-1].astype(np.float32)


def log_mel(samples: Samples) -> npt.NDArray[np.float32]:
    """Shape (80, len(samples) // 160), float32, clamped to 8 decades below the loudest value and scaled to about [-1, 1]."""
    padded = np.pad(samples, WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][: len(samples) // HOP]
    spectrum = np.fft.rfft(frames * _window(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32, copy=False)
    logs = np.log10(np.maximum(_filters() @ power.T, 1e-10))
    return np.asarray((np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0, dtype=np.float32)
