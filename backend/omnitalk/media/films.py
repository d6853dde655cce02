"""Looks at a film before a model does."""

import io

from .containers import kind_of
from .pictures import MAX_PIXELS
from .refusal import MediaRefused

__all__ = ["check_film"]

_MIME = {"mov": "video/mp4", "matroska": "video/webm"}
_MAX_PACKETS = 200_000


def check_film(data: bytes, most_s: float) -> str:
    """Its type. Raises ``MediaRefused``: ``bad_video``, or ``video_too_long``.

    Reads the packets' times, not their pictures, and decodes one picture: a claimed length is not believed, and nothing is paid for
    pictures that the model will not look at. Blocks: call it in a thread.
    """
    import av

    kind = kind_of(data)
    if kind not in _MIME:
        raise MediaRefused("bad_video", "This is no film that is taken here (MP4, MOV, WebM or Matroska).")
    try:
        with av.open(io.BytesIO(data), format=kind, mode="r") as file:
            if not file.streams.video:
                raise MediaRefused("bad_video", "There are no pictures in this file.")
            stream = file.streams.video[0]
            if not 0 < stream.width * stream.height <= MAX_PIXELS:
                raise MediaRefused("bad_video", f"A film's pictures have at most {MAX_PIXELS // 2**20} megapixels.")
            last, seen = 0.0, False
            for count, packet in enumerate(file.demux(stream)):
                if not seen:
                    seen = bool(packet.decode())
                if packet.pts is not None and stream.time_base is not None:
                    last = max(last, float((packet.pts + (packet.duration or 0)) * stream.time_base))
                if last > most_s or count > _MAX_PACKETS:
                    raise MediaRefused("video_too_long", f"A film may last at most {most_s:g} seconds.")
            if not seen:
                raise MediaRefused("bad_video", "No picture of this film can be read.")
    except MediaRefused:
        raise
    except Exception as problem:
        # Whatever a decoder makes of hostile bytes, the film is what is wrong.
        raise MediaRefused("bad_video", f"This film cannot be read ({type(problem).__name__}).") from problem
    return _MIME[kind]
