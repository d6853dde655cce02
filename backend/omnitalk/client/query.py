"""Questions of five kinds, with files of the asker's or drawn here."""

import base64
import io
import mimetypes
from pathlib import Path
from typing import Any, Literal, get_args

__all__ = ["KINDS", "PROMPTS", "Kind", "body_of", "message_of"]

Kind = Literal["text", "use_image", "use_audio", "use_video", "use_mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PROMPTS: dict[Kind, str] = {
    "text": "Explain in two sentences why the sky is blue.",
    "use_image": "What is in this picture?",
    "use_audio": "Answer the question in this recording.",
    "use_video": "What happens in this video?",
    "use_mixed": "Answer the question in the recording, then describe the picture and the video in one sentence each.",
}

_SPOKEN = "What is the capital of France?"
_SIDE = 320


def message_of(
    kind: Kind, prompt: str | None, *, image: str | None = None, audio: str | None = None, video: str | None = None
) -> dict[str, Any]:
    """The user's message. A file is a path or a URL; without one, a picture and a film are drawn and a question is spoken here.

    Raises ``ValueError`` with a sentence when a file cannot be read, or nothing can speak the question.
    """
    parts: list[dict[str, Any]] = []
    if kind in ("use_audio", "use_mixed"):
        parts.append(_by_url("audio_url", audio or _data_url(_spoken(), "audio/wav")))
    if kind in ("use_image", "use_mixed"):
        parts.append(_by_url("image_url", image or _data_url(_drawn(0.5), "image/png")))
    if kind in ("use_video", "use_mixed"):
        parts.append(_by_url("video_url", video or _data_url(_filmed(), "video/mp4")))
    text = prompt or PROMPTS[kind]
    if not parts:
        return {"role": "user", "content": text}
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}]}


def body_of(message: dict[str, Any], model: str, modalities: list[str], *, stream: bool, voice: str | None = None) -> dict[str, Any]:
    """The request, as every dialect takes it."""
    body: dict[str, Any] = {"model": model, "messages": [message], "modalities": modalities, "stream": stream}
    if "audio" in modalities:
        body["audio"] = {"voice": voice or "alloy", "format": "pcm16" if stream else "wav"}
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body


def _by_url(kind: str, where: str) -> dict[str, Any]:
    if not where.startswith(("data:", "http://", "https://", "file://")):
        path = Path(where).expanduser()
        try:
            where = _data_url(path.read_bytes(), mimetypes.guess_type(path.name)[0] or "application/octet-stream")
        except OSError as problem:
            raise ValueError(f"{path}: {problem.strerror}") from problem
    return {"type": kind, kind: {"url": where}}


def _data_url(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _picture(at: float) -> Any:
    """A red ball on white, ``at`` 0 on the left to 1 on the right."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (_SIDE, _SIDE), "white")
    left, radius = at * (_SIDE - 100), 50
    ImageDraw.Draw(picture).ellipse((left, _SIDE / 2 - radius, left + 2 * radius, _SIDE / 2 + radius), fill="red")
    return picture


def _drawn(at: float) -> bytes:
    out = io.BytesIO()
    _picture(at).save(out, "PNG")
    return out.getvalue()


def _filmed(pictures: int = 20) -> bytes:
    """The ball rolls from left to right, in two seconds."""
    import av
    import numpy as np

    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        stream = file.add_stream("libx264" if "libx264" in av.codecs_available else "mpeg4", rate=10)
        stream.width = stream.height = _SIDE
        stream.pix_fmt = "yuv420p"
        for index in range(pictures):
            frame = av.VideoFrame.from_ndarray(np.asarray(_picture(index / (pictures - 1))), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


def _spoken() -> bytes:
    try:
        from omnitalk.engines.cascade.tts import HibariVoice

        voice = HibariVoice()
    except ImportError as problem:
        raise ValueError(
            "Give a recording with --audio FILE, or `pip install 'omnitalk[local]'` to have a question spoken here."
        ) from problem
    from omnitalk.media.audio import encode
    from omnitalk.media.encoders import encode_speech

    return encode_speech(encode(voice.say(_SPOKEN), "pcm16"), "wav", voice.rate)
