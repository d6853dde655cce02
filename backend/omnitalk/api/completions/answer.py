"""What an answer is made of, whatever dialect it is told in."""

import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from omnitalk.engines.chat import ChatDelta, ChatUsage

from .reading import Wanted

__all__ = ["Answer", "Json", "Shape", "usage_object"]

Json = dict[str, Any]


@dataclass
class Answer:
    """Gathers deltas. ``created``: seconds since 1970."""

    wanted: Wanted
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(16)}")
    audio_id: str = field(default_factory=lambda: f"audio-{secrets.token_hex(8)}")
    created: int = field(default_factory=lambda: int(time.time()))
    text: str = ""
    pcm: bytearray = field(default_factory=bytearray)
    spoke: bool = False
    finish: Literal["stop", "length"] = "stop"
    usage: ChatUsage = field(default_factory=ChatUsage)

    def take(self, delta: ChatDelta, *, keep_sound: bool) -> None:
        """Adds a delta; a stream that has sent its sound need not keep it."""
        self.text += delta.text
        self.spoke = self.spoke or bool(delta.audio)
        if keep_sound:
            self.pcm += delta.audio
        self.finish = delta.finish or self.finish
        self.usage = delta.usage or self.usage

    @property
    def mute(self) -> bool:
        """Speech was wanted, there were words, and nothing was spoken."""
        return self.wanted.speaks and not self.spoke and any(letter.isalnum() for letter in self.text)


def usage_object(usage: ChatUsage) -> Json:
    """As OpenAI writes it."""
    total = usage.prompt_tokens + usage.completion_tokens
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens, "total_tokens": total}


class Shape(Protocol):
    """A dialect. ``sound``: the speech of a delta (or of all) as it was asked for, encoded."""

    def whole(self, answer: Answer, sound: bytes) -> Json:
        """The answer in one piece."""
        ...

    def opening(self, answer: Answer) -> list[Json]:
        """Chunks before anything is said."""
        ...

    def piece(self, answer: Answer, delta: ChatDelta, sound: bytes) -> list[Json]:
        """Chunks of one delta."""
        ...

    def closing(self, answer: Answer) -> list[Json]:
        """Chunks after the last delta."""
        ...
