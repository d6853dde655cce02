"""Speech for tests: said by the embedded voice, heard by the embedded recogniser. No recordings live in the repository."""

import functools
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soxr

Samples = npt.NDArray[np.float32]
VOICE_RATE = 24_000


@functools.cache
def _voice() -> Any:
    from hibari import Hibari

    return Hibari(threads=1)


@functools.cache
def say(text: str, rate: int = 48_000) -> Samples:
    """The text as mono float32 speech at ``rate`` Hz (the same samples every time)."""
    spoken = np.asarray(_voice()(text, seed=0), dtype=np.float32)
    return np.asarray(soxr.resample(spoken, VOICE_RATE, rate, quality="HQ"), dtype=np.float32)


def silence(seconds: float, rate: int = 48_000) -> Samples:
    """Zeros."""
    return np.zeros(int(seconds * rate), dtype=np.float32)


def voiced(samples: Samples) -> Samples:
    """Without the silence around it."""
    loud = np.flatnonzero(np.abs(samples) > 0.01)
    return samples[loud[0] : loud[-1] + 1]


def click(rate: int = 48_000, ms: int = 60, seed: int = 1) -> Samples:
    """A short loud burst of white noise, as of a cup set down beside the microphone."""
    noise = np.random.default_rng(seed).standard_normal(int(rate * ms / 1000)).astype(np.float32)
    return (0.5 * noise * np.hanning(len(noise))).astype(np.float32)


def cough(rate: int = 48_000, seed: int = 2) -> Samples:
    """Two noise bursts with a sharp onset, a fast decay and the spectrum of a throat (a band around 500-2500 Hz)."""
    random = np.random.default_rng(seed)

    def burst(ms: int) -> Samples:
        n = int(rate * ms / 1000)
        spectrum = np.fft.rfft(random.standard_normal(n))
        hz = np.fft.rfftfreq(n, 1 / rate)
        spectrum *= np.exp(-(((hz - 1200) / 1100) ** 2))
        noise = np.fft.irfft(spectrum, n)
        decay = np.exp(-np.linspace(0, 5, n)) * np.minimum(1, np.linspace(0, 40, n))
        return np.asarray(0.4 * noise / np.max(np.abs(noise)) * decay, dtype=np.float32)

    return np.concatenate([burst(140), silence(0.08, rate), burst(110)])


def write_wav(path: Path, pieces: Sequence[Samples], rate: int = 48_000) -> Path:
    """Mono PCM16 WAV of the pieces one after another."""
    samples = np.clip(np.concatenate(pieces), -1, 1)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((samples * 32767).astype("<i2").tobytes())
    return path
