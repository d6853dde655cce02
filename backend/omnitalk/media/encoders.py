"""24 kHz speech as files."""

import io
import struct
from typing import Literal, get_args

import numpy as np

__all__ = ["MIME", "SpeechFormat", "encode_speech"]

SpeechFormat = Literal["wav", "pcm16", "flac", "mp3", "opus", "aac"]

MIME: dict[str, str] = {
    "wav": "audio/wav",
    "pcm16": "audio/pcm",
    "flac": "audio/flac",
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
}

_CODECS = {
    "flac": ("flac", "flac", "s16"),
    "mp3": ("mp3", "libmp3lame", "s16p"),
    "opus": ("ogg", "libopus", "s16"),
    "aac": ("adts", "aac", "fltp"),
}
"""Container, codec, sample format."""

_OPUS_RATE = 48_000
_PIECE = 24_000
assert set(MIME) == set(get_args(SpeechFormat))


def encode_speech(pcm: bytes, form: SpeechFormat, rate: int = 24_000) -> bytes:
    """PCM16 mono as a file of this format; ``pcm16`` is the samples themselves, little-endian. Blocks: call it in a thread."""
    if form == "pcm16":
        return pcm
    if form == "wav":
        return _wav_header(len(pcm), rate) + pcm
    return _through_codec(pcm, form, rate)


def _wav_header(size: int, rate: int) -> bytes:
    """RIFF/WAVE, PCM, one channel of 16 bits."""
    return struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", size)


def _through_codec(pcm: bytes, form: str, rate: int) -> bytes:
    import av

    container, codec, sample_format = _CODECS[form]
    out = io.BytesIO()
    with av.open(out, mode="w", format=container) as file:
        stream = file.add_stream(codec, rate=_OPUS_RATE if form == "opus" else rate, layout="mono")
        stream.format = sample_format
        samples = np.frombuffer(pcm, "<i2")
        for at in range(0, samples.size, _PIECE):
            frame = av.AudioFrame.from_ndarray(samples[None, at : at + _PIECE], format="s16", layout="mono")
            frame.sample_rate, frame.pts = rate, at
            # The encoder's own resampler makes what its codec wants of it.
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()
