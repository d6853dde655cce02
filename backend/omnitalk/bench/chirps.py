"""Chirps: sounds whose place in a recording can be found to a fraction of a millisecond, and the finding of them."""

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

__all__ = ["CHIRP_MS", "chirp", "onsets_ms", "pair_up", "write_wav"]

CHIRP_MS = 40
_LOW_HZ, _HIGH_HZ = 400.0, 3_200.0
"""A band that every codec and resampler of a call carries."""
_RATE = 48_000
_NOISE = 8e-4
_APART_S = (1.3, 1.7)
"""Not regular: an echo of one chirp must not be taken for the next."""

Floats = npt.NDArray[np.float64]


def chirp(rate: int = _RATE) -> Floats:
    """A linear sweep of 40 ms under a Hann window, at ``rate`` Hz."""
    t = np.arange(int(rate * CHIRP_MS / 1000)) / rate
    sweep = np.sin(2 * np.pi * (_LOW_HZ * t + (_HIGH_HZ - _LOW_HZ) / (2 * CHIRP_MS / 1000) * t**2))
    return np.asarray(0.6 * sweep * np.hanning(len(t)))


def write_wav(path: Path, seconds: float, lead_s: float) -> int:
    """A microphone's recording: noise floor, and chirps after ``lead_s``. Returns how many."""
    random = np.random.default_rng(7)
    sound = random.normal(0, _NOISE, int(_RATE * seconds))
    shape, at, count = chirp(), lead_s, 0
    while at < seconds - 1:
        start = int(at * _RATE)
        sound[start : start + len(shape)] += shape
        at += random.uniform(*_APART_S)
        count += 1
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(_RATE)
        out.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())
    return count


def onsets_ms(samples: npt.NDArray[np.float32], rate: int, threshold: float = 0.35) -> Floats:
    """Where chirps begin in a recording, ms from its first sample. Matched filter, magnitude of the analytic signal."""
    sound = np.asarray(samples, dtype=np.float64)
    if rate != _RATE:
        sound = np.asarray(soxr.resample(sound, rate, _RATE, quality="HQ"))
    shape = chirp()
    size = 1 << (len(sound) + len(shape)).bit_length()
    spectrum = np.fft.fft(sound, size) * np.conj(np.fft.fft(shape, size))
    # The analytic signal: negative frequencies off. Its magnitude does not depend on the phase a resampler leaves.
    spectrum[size // 2 + 1 :] = 0
    spectrum[1 : size // 2] *= 2
    strength = np.abs(np.fft.ifft(spectrum))[: len(sound)]
    found: list[float] = []
    if not len(strength) or strength.max() <= 0:
        return np.array(found)
    above = np.flatnonzero(strength > threshold * strength.max())
    while len(above):
        first = int(above[0])
        peak = first + int(np.argmax(strength[first : first + _RATE // 4]))
        found.append(1000.0 * peak / _RATE)
        above = above[above > peak + int(0.3 * _RATE)]
    return np.array(found)


def pair_up(said: Floats, heard: Floats, longest_ms: float) -> Floats:
    """From each chirp said to the next one heard within ``longest_ms``; those that were never heard are left out."""
    delays = [float(heard[heard >= at][0] - at) for at in said if len(heard[heard >= at])]
    return np.array([delay for delay in delays if delay < longest_ms])
