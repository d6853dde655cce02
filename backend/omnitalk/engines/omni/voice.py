"""Reference voices: the model speaks in the voice of a short recording that every call gives it, and needs one to speak at all.

The built-in one (``voice.flac``, 6.3 s, 16 kHz mono) was made with hibari-tts (Apache-2.0), the voice of the embedded cascade.
"""

import base64
import binascii
import io
from pathlib import Path
from typing import NamedTuple

from omnitalk.engines.base import EngineError

__all__ = ["Voice", "built_in", "from_data_url", "from_file"]

_MAX_BYTES = 8 * 1024 * 1024
_SHORTEST_S, _LONGEST_S = 1.0, 30.0
_LOWEST_HZ, _HIGHEST_HZ = 8_000, 192_000
_PARAM = "session.ref_audio"


class Voice(NamedTuple):
    """``url``: a data URL; ``seconds``: its length."""

    url: str
    seconds: float


def built_in() -> Voice:
    """The voice of a call that brings none."""
    return from_file(Path(__file__).parent / "voice.flac")


def from_file(path: Path) -> Voice:
    """Raises ``EngineError`` that names the file."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise EngineError("engine_error", f"The voice {path} cannot be read: {problem.strerror}.", kind="server_error") from problem
    seconds = _length(data)
    kind = "flac" if data.startswith(b"fLaC") else "wav"
    return Voice(f"data:audio/{kind};base64,{base64.b64encode(data).decode()}", seconds)


def from_data_url(url: str) -> Voice:
    """A voice that a client sent. Raises ``EngineError`` (``unsupported_ref_audio_path``, ``bad_audio``) that says what was wrong.

    Only data URLs: a server must not fetch addresses, nor open its own files, for whoever can open a call.
    """
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:") or ";base64" not in head:
        message = "The reference voice must be a data URL: data:audio/wav;base64,…"
        raise EngineError("unsupported_ref_audio_path", message, param=_PARAM)
    if len(body) > _MAX_BYTES * 4 // 3:
        raise EngineError("bad_audio", f"The reference voice is larger than {_MAX_BYTES // 1024 // 1024} MiB.", param=_PARAM)
    try:
        data = base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error) as problem:
        raise EngineError("bad_audio", "The reference voice is not base64.", param=_PARAM) from problem
    return Voice(url, _length(data))


def _length(data: bytes) -> float:
    import numpy as np
    import soundfile

    try:
        info = soundfile.info(io.BytesIO(data))
        seconds = float(info.frames) / float(info.samplerate)
    except (RuntimeError, ZeroDivisionError, TypeError) as problem:
        raise EngineError(
            "bad_audio", "The reference voice is no sound file that can be read (WAV, FLAC, MP3, OGG).", param=_PARAM
        ) from problem
    if not _LOWEST_HZ <= info.samplerate <= _HIGHEST_HZ or info.channels > 2:
        got = f"{info.channels} channels at {info.samplerate} Hz"
        raise EngineError(
            "bad_audio", f"The reference voice has {got}; one or two at {_LOWEST_HZ} to {_HIGHEST_HZ} Hz are taken.", param=_PARAM
        )
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise EngineError(
            "bad_audio", f"The reference voice lasts {seconds:.1f} s; {_SHORTEST_S:g} to {_LONGEST_S:g} s are good.", param=_PARAM
        )
    try:
        samples, _ = soundfile.read(io.BytesIO(data), dtype="float32")
    except (RuntimeError, TypeError) as problem:
        raise EngineError("bad_audio", "The reference voice breaks off: it cannot be read to its end.", param=_PARAM) from problem
    if not np.isfinite(samples).all():
        raise EngineError("bad_audio", "The reference voice holds samples that are no numbers.", param=_PARAM)
    return seconds
