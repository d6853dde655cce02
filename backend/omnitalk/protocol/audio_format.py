"""PCM wire formats: the many spellings of their names, their sizes, and a check of one piece of sound."""

import math
import struct
from typing import Final

from .errors import ProtocolError
from .limits import MAX_RATE_HZ, MIN_RATE_HZ
from .session import AudioFormat

__all__ = ["bytes_per_sample", "canonical_encoding", "check_audio", "check_rate", "duration_ms", "ga_type", "parse_format"]

_SPELLINGS: Final = {
    "pcm16": ("pcm16", "pcm_s16le", "s16le", "pcm", "audio/pcm", "audio/pcm16"),
    "pcm_f32le": ("pcm_f32le", "f32le", "audio/pcm_f32le"),
    "g711_ulaw": ("g711_ulaw", "g711-ulaw", "ulaw", "mulaw", "audio/pcmu", "audio/g711_ulaw"),
    "g711_alaw": ("g711_alaw", "g711-alaw", "alaw", "audio/pcma", "audio/g711_alaw"),
}
_CANONICAL: Final = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}
_BYTES: Final = {"pcm16": 2, "pcm_f32le": 4, "g711_ulaw": 1, "g711_alaw": 1}
_GA: Final = {"pcm16": "audio/pcm", "pcm_f32le": "audio/pcm_f32le", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}
_G711_RATE: Final = 8_000


def canonical_encoding(name: str, *, param: str) -> str:
    """The one name of an encoding. Raises ``ProtocolError(unsupported_audio_format)``."""
    found = _CANONICAL.get(name.lower())
    if found is None:
        raise ProtocolError(
            "unsupported_audio_format", f"{name[:80]!r} is no audio format we know: use one of {', '.join(_SPELLINGS)}.", param=param
        )
    return found


def check_rate(rate: object, *, param: str) -> int:
    """A sample rate in Hz, whole and within 8,000 to 192,000. Raises ``ProtocolError(unsupported_audio_format)``."""
    whole = isinstance(rate, int) or (isinstance(rate, float) and math.isfinite(rate) and rate == int(rate))
    if isinstance(rate, bool) or not whole or not MIN_RATE_HZ <= int(rate) <= MAX_RATE_HZ:  # type: ignore[call-overload]
        raise ProtocolError(
            "unsupported_audio_format", f"A sample rate is a whole number of Hz from {MIN_RATE_HZ} to {MAX_RATE_HZ}.", param=param
        )
    return int(rate)  # type: ignore[call-overload, no-any-return]


def parse_format(value: object, *, param: str) -> tuple[str | None, int | None]:
    """Encoding and rate named by a format string or object (``{type, rate}``); None for what it leaves open.

    Raises ``ProtocolError(unsupported_audio_format)``.
    """
    if value is None:
        return None, None
    if isinstance(value, str):
        return canonical_encoding(value, param=param), None
    if not isinstance(value, dict):
        raise ProtocolError("unsupported_audio_format", "An audio format is a name or an object with `type` and `rate`.", param=param)
    kind = value.get("type", value.get("format"))
    if kind is not None and not isinstance(kind, str):
        raise ProtocolError("unsupported_audio_format", "An audio format's `type` is a string.", param=f"{param}.type")
    encoding = None if kind is None else canonical_encoding(kind, param=f"{param}.type")
    for key in ("rate", "sample_rate_hz", "sample_rate"):
        if value.get(key) is not None:
            return encoding, check_rate(value[key], param=f"{param}.{key}")
    return encoding, None


def settle(encoding: str, rate: int, *, asked_rate: int | None, param: str) -> AudioFormat:
    """The format of an encoding at a rate. G.711 knows only 8,000 Hz: it is assumed, and another rate that was asked for is refused."""
    if not encoding.startswith("g711"):
        return AudioFormat(encoding=encoding, rate=rate)
    if asked_rate not in (None, _G711_RATE):
        raise ProtocolError("unsupported_audio_format", f"{encoding} has a rate of 8000 Hz, not {asked_rate}.", param=param)
    return AudioFormat(encoding=encoding, rate=_G711_RATE)


def ga_type(encoding: str) -> str:
    """OpenAI's name of an encoding, such as ``audio/pcm``."""
    return _GA[encoding]


def bytes_per_sample(encoding: str) -> int:
    """Bytes of one mono sample."""
    return _BYTES[encoding]


def duration_ms(byte_count: int, audio_format: AudioFormat) -> float:
    """How long this much sound lasts."""
    return byte_count * 1000.0 / (bytes_per_sample(audio_format.encoding) * audio_format.rate)


def check_audio(audio: bytes, encoding: str, *, param: str = "audio") -> None:
    """Whole samples, and finite ones. Raises ``ProtocolError(bad_audio)``."""
    size = bytes_per_sample(encoding)
    if len(audio) % size:
        raise ProtocolError("bad_audio", f"{len(audio)} bytes are no whole number of {encoding} samples ({size} bytes each).", param=param)
    if encoding == "pcm_f32le" and audio and not _all_finite(audio):
        raise ProtocolError("bad_audio", "The sound holds samples that are no number (NaN or infinite).", param=param)


def _all_finite(audio: bytes) -> bool:
    """Without numpy's import cost for the usual 20 ms piece; a sum of finite float32 samples cannot overflow a double."""
    return math.isfinite(math.fsum(struct.unpack(f"<{len(audio) // 4}f", audio))) if len(audio) <= 4096 else _all_finite_bulk(audio)


def _all_finite_bulk(audio: bytes) -> bool:
    import numpy as np

    return bool(np.isfinite(np.frombuffer(audio, dtype="<f4")).all())
