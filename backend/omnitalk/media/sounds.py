"""Sound files as samples."""

import io
from typing import Any

import numpy as np

from .audio import Samples
from .containers import kind_of
from .refusal import MediaRefused

__all__ = ["read_sound"]

_KINDS = "WAV, FLAC, MP3, AAC, Ogg (Opus, Vorbis), M4A or WebM"


def read_sound(data: bytes, rate: int, most_s: float) -> Samples:
    """The sound in a file, mono, at ``rate``. Raises ``MediaRefused``: ``bad_audio``, or ``audio_too_long`` above ``most_s`` seconds.

    Decodes piece by piece and stops at the limit, whatever length the file claims. Blocks: call it in a thread.
    """
    import av

    kind = kind_of(data)
    if kind is None:
        raise MediaRefused("bad_audio", f"This is no sound file that is taken here ({_KINDS}).")
    pieces: list[Samples] = []
    count, most = 0, int(most_s * rate)
    try:
        with av.open(io.BytesIO(data), format=kind, mode="r") as file:
            if not file.streams.audio:
                raise MediaRefused("bad_audio", "There is no sound in this file.")
            resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
            for piece in _frames(file, resampler):
                pieces.append(piece)
                count += piece.size
                if count > most:
                    raise MediaRefused("audio_too_long", f"A sound may last at most {most_s:g} seconds.")
    except MediaRefused:
        raise
    except Exception as problem:
        # Whatever a decoder makes of hostile bytes, the file is what is wrong.
        raise MediaRefused("bad_audio", f"This sound cannot be read ({type(problem).__name__}); it must be {_KINDS}.") from problem
    if not count:
        raise MediaRefused("bad_audio", "There is no sound in this file.")
    sound = np.concatenate(pieces)
    if not np.isfinite(sound).all():
        raise MediaRefused("bad_audio", "This sound holds values that are no numbers.")
    return np.clip(sound, -1.0, 1.0)


def _frames(file: Any, resampler: Any) -> "Any":
    for frame in file.decode(audio=0):
        for out in resampler.resample(frame):
            yield out.to_ndarray().reshape(-1)
    for out in resampler.resample(None):
        yield out.to_ndarray().reshape(-1)
