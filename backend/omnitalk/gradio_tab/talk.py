"""One conversation of the demo: what was said, as OpenAI's messages, and the next request made of it."""

import base64
import io
import mimetypes
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Talk", "wav"]

_KEPT = 40
"""Messages. Older ones are forgotten, as a call's are."""

_MEDIA_KEPT = 4
"""The newest messages whose files are sent again; of older ones the words stay."""

_MOST_BYTES = 20 * 1024 * 1024


class Talk:
    """Lives in the browser session's state."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def say(self, text: str, files: Sequence[str]) -> None:
        """The person's message. Raises ``ValueError`` with a sentence for a file that is of no use."""
        parts = [_part(Path(file)) for file in files]
        if text.strip():
            parts.append({"type": "text", "text": text.strip()})
        if not parts:
            raise ValueError("Write something, or add a picture, a recording or a film.")
        self.messages.append({"role": "user", "content": parts})
        del self.messages[:-_KEPT]

    def hear(self, text: str) -> None:
        """The model's answer; an empty one leaves the question unanswered, and takes it back."""
        if text:
            self.messages.append({"role": "assistant", "content": text})
        else:
            self.messages.pop()

    def body(self, model: str, system: str, *, speaks: bool, voice: str | None, ref_audio: str | None) -> dict[str, Any]:
        """The request for the next answer."""
        last = len(self.messages) - _MEDIA_KEPT
        messages = [message if index >= last else _words_only(message) for index, message in enumerate(self.messages)]
        if system.strip():
            messages.insert(0, {"role": "system", "content": system.strip()})
        body: dict[str, Any] = {
            "model": model,
            "messages": messages,
            "stream": True,
            "modalities": ["text", "audio"] if speaks else ["text"],
        }
        if speaks:
            body["audio"] = {"voice": voice or "alloy", "format": "pcm16"}
        if ref_audio:
            body["ref_audio"] = _url(Path(ref_audio), "audio/wav")
        return body


def _part(path: Path) -> dict[str, Any]:
    mime = mimetypes.guess_type(path.name)[0] or ""
    kind = {"image": "image_url", "audio": "audio_url", "video": "video_url"}.get(mime.split("/")[0])
    if kind is None:
        raise ValueError(f"{path.name} is no picture, recording or film.")
    # A browser's microphone records into a container that is named for films.
    if path.suffix == ".webm" and path.stem.startswith(("audio", "recording")):
        kind, mime = "audio_url", "audio/webm"
    return {"type": kind, kind: {"url": _url(path, mime)}}


def _url(path: Path, mime: str) -> str:
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path.name} is larger than {_MOST_BYTES // 2**20} MiB.")
    return f"data:{mime};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _words_only(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return message
    words = [part["text"] if part["type"] == "text" else f"({part['type'].removesuffix('_url')})" for part in content]
    return {**message, "content": " ".join(words)}


def wav(pcm: bytes, rate: int = 24_000) -> bytes:
    """A file of PCM16 mono samples."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm)
    return out.getvalue()
