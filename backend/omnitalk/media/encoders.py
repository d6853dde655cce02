"""24 kHz speech as files."""

import struct
from typing import Any, Literal, get_args

import numpy as np

__all__ = ["MIME", "SpeechEncoder", "SpeechFormat", "encode_speech"]

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
_ENDLESS = 2**32 - 1
assert set(MIME) == set(get_args(SpeechFormat))


def encode_speech(pcm: bytes, form: SpeechFormat, rate: int = 24_000) -> bytes:
    """PCM16 mono as a file of this format; ``pcm16`` is the samples themselves, little-endian. Blocks: call it in a thread."""
    if form == "wav":
        return _wav_header(len(pcm), rate) + pcm
    encoder = SpeechEncoder(form, rate)
    return encoder.feed(pcm) + encoder.finish()


class SpeechEncoder:
    """The same for speech that is still being made; a WAV's header then claims the greatest length there is, as one does in a pipe."""

    def __init__(self, form: SpeechFormat, rate: int = 24_000) -> None:
        import av

        self._rate, self._at = rate, 0
        self._sink = _Sink()
        self._file: Any = None
        if form == "wav":
            self._sink.write(_wav_header(_ENDLESS, rate))
        elif form != "pcm16":
            container, codec, sample_format = _CODECS[form]
            # The header that an MP3 would get at the end cannot be written into what has been sent.
            self._file = av.open(self._sink, mode="w", format=container, options={"write_xing": "0"} if form == "mp3" else {})
            self._stream = self._file.add_stream(codec, rate=_OPUS_RATE if form == "opus" else rate, layout="mono")
            self._stream.format = sample_format

    def feed(self, pcm: bytes) -> bytes:
        """The bytes that are ready after these samples."""
        if self._file is None:
            self._sink.write(pcm)
            return self._sink.take()
        import av

        samples = np.frombuffer(pcm, "<i2")
        for at in range(0, samples.size, _PIECE):
            frame = av.AudioFrame.from_ndarray(samples[None, at : at + _PIECE], format="s16", layout="mono")
            frame.sample_rate, frame.pts = self._rate, self._at + at
            # The encoder's own resampler makes what its codec wants of it.
            self._file.mux(self._stream.encode(frame))
        self._at += samples.size
        return self._sink.take()

    def finish(self) -> bytes:
        """The end of the file."""
        if self._file is not None:
            self._file.mux(self._stream.encode(None))
            self._file.close()
        return self._sink.take()


class _Sink:
    """A file that can only be written to."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._data)
        self._data.clear()
        return taken


def _wav_header(size: int, rate: int) -> bytes:
    """RIFF/WAVE, PCM, one channel of 16 bits."""
    whole = min(_ENDLESS, 36 + size)
    return struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", whole, b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", size)
