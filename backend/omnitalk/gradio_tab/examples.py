"""Questions that the engine at hand can answer."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog

from omnitalk.client.query import PROMPTS, Kind, message_of

__all__ = ["examples"]

log = structlog.get_logger("omnitalk.gradio")

_FILES: tuple[tuple[Kind, str, str], ...] = (
    ("use_audio", "audio", "question.wav"),
    ("use_image", "image", "picture.png"),
    ("use_video", "video", "film.mp4"),
)


def examples(kinds: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Words always; pictures and films where it sees; a recording where a voice is at hand to speak it. ``folder`` gets the files."""
    found: list[dict[str, Any]] = [{"text": PROMPTS["text"], "files": []}, {"text": "What is the capital of France?", "files": []}]
    for kind, part, name in _FILES:
        if part not in kinds:
            continue
        try:
            content = message_of(kind, None)["content"]
        except (ValueError, OSError) as problem:
            log.info("no_example", kind=kind, problem=str(problem))
            continue
        (folder / name).write_bytes(base64.b64decode(content[0][f"{part}_url"]["url"].partition(",")[2]))
        found.append({"text": content[1]["text"], "files": [str(folder / name)]})
    return found
