"""One conversation of the demo: what was said, how the page shows it, and the next request made of it."""

import base64
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["Talk", "Turn"]

_KEPT = 40
"""Turns that are sent. Older ones are forgotten, as a call's are."""

_SHOWN = 200

_MEDIA_KEPT = 4
"""The newest turns whose files are sent again; of older ones the words stay."""

_MOST_BYTES = 20 * 1024 * 1024
"""All files of a request."""

_KINDS = {"image": "picture", "audio": "recording", "video": "film"}


@dataclass
class Turn:
    """What one side said. ``sound``: the answer's, as a file. ``problem``: why it is not whole. ``sent``: goes on to the model."""

    role: Literal["user", "assistant"]
    text: str = ""
    files: tuple[Path, ...] = ()
    sound: Path | None = None
    problem: str = ""
    sent: bool = True


class Talk:
    """Lives in the state of one visit. Files stay files: they are read when a request is made, and may be gone by then."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def say(self, text: str, files: Sequence[str]) -> Turn:
        """The person's turn, and the answer to fill. Raises ``ValueError`` with a sentence: nothing asked, useless files."""
        paths = tuple(Path(file) for file in files)
        if not paths and not text.strip():
            raise ValueError("Write something, or add a recording or another file.")
        if sum(path.stat().st_size for path in paths) > _MOST_BYTES:
            raise ValueError(f"The files of a message have at most {_MOST_BYTES // 2**20} MiB together.")
        for path in paths:
            _kind(path)
        answer = Turn("assistant")
        self.turns += [Turn("user", text.strip(), paths), answer]
        del self.turns[:-_SHOWN]
        return answer

    def settle(self, answer: Turn) -> None:
        """The answer has ended, whole or not. A question that got none is not asked again with the next."""
        answer.sent = bool(answer.text)
        question = self.turns[self.turns.index(answer) - 1]
        question.sent = answer.sent

    def body(self, model: str, system: str, *, speaks: bool, voice: str | None, ref_audio: str | None) -> dict[str, Any]:
        """The request for the next answer, in OpenAI's shape. Reads files."""
        body: dict[str, Any] = {
            "model": model,
            "messages": self._messages(),
            "stream": True,
            "modalities": ["text", "audio"] if speaks else ["text"],
        }
        if system.strip():
            body["messages"].insert(0, {"role": "system", "content": system.strip()})
        if speaks:
            body["audio"] = {"voice": voice or "alloy", "format": "pcm16"}
        if ref_audio:
            body["ref_audio"] = _url(Path(ref_audio), "audio/wav")
        return body

    def _messages(self) -> list[dict[str, Any]]:
        """Files of the newest turns go along while there is room for them; a film only once, which is what a request may hold."""
        room, films = _MOST_BYTES, 1
        messages: list[dict[str, Any]] = []
        said = [turn for turn in self.turns if turn.sent and (turn.text or turn.files)][-_KEPT:]
        for age, turn in enumerate(reversed(said)):
            parts: list[dict[str, Any]] = []
            for path in turn.files:
                kind, mime = _kind(path)
                size = path.stat().st_size if path.exists() else room + 1
                fits = age < _MEDIA_KEPT and size <= room and (kind != "video" or films > 0)
                if fits:
                    room -= size
                    films -= kind == "video"
                    parts.append({"type": f"{kind}_url", f"{kind}_url": {"url": _url(path, mime)}})
                else:
                    parts.append({"type": "text", "text": f"(a {_KINDS[kind]})"})
            if turn.text:
                parts.append({"type": "text", "text": turn.text})
            only_words = all(part["type"] == "text" for part in parts)
            messages.append({"role": turn.role, "content": " ".join(part["text"] for part in parts) if only_words else parts})
        return messages[::-1]


def _kind(path: Path) -> tuple[str, str]:
    """``image``, ``audio`` or ``video``, and the type. Raises ``ValueError`` for anything else."""
    mime = mimetypes.guess_type(path.name)[0] or ""
    kind = mime.split("/")[0]
    # A browser's microphone records into a container that is named for films.
    if path.suffix == ".webm" and path.stem.startswith(("audio", "recording")):
        return "audio", "audio/webm"
    if kind not in _KINDS:
        raise ValueError(f"{path.name} is no picture, recording or film.")
    return kind, mime


def _url(path: Path, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(path.read_bytes()).decode()}"
