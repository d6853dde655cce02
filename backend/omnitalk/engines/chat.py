"""Chat: one answer to one list of messages, by the same weights that hold calls.

An engine whose ``capabilities.chat`` is true has ``chat(request)``. Media are bytes by the time an engine sees them: fetching,
limits and formats of files are the doors' business.
"""

from collections.abc import AsyncIterator
from typing import Literal, Protocol, runtime_checkable

import msgspec

__all__ = ["ChatDelta", "ChatEngine", "ChatMessage", "ChatPart", "ChatRequest", "ChatUsage"]


class ChatPart(msgspec.Struct, frozen=True, kw_only=True):
    """``text`` for a text part; ``data`` with its ``mime`` type (``audio/wav``, ``image/jpeg``, ``video/mp4`` …) for the others."""

    kind: Literal["text", "image", "audio", "video"]
    text: str = ""
    data: bytes = b""
    mime: str = ""


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message; an empty list of parts is an empty message."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[ChatPart, ...]


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """``speaks``: sound is wanted beside the text. ``voice``: a reference voice as a data URL, for engines that take one.

    ``template``: switches of the model's chat template (``use_tts_template``, ``enable_thinking``). ``extra``: passed to the engine.
    """

    messages: tuple[ChatMessage, ...]
    speaks: bool = False
    voice: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    template: dict[str, bool] = {}
    extra: dict[str, object] = {}


class ChatUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as the model counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the answer: text, sound (PCM16, 24 kHz, mono), or its end (``finish`` with ``usage``)."""

    text: str = ""
    audio: bytes = b""
    finish: Literal["stop", "length"] | None = None
    usage: ChatUsage | None = None


@runtime_checkable
class ChatEngine(Protocol):
    """An engine that also answers chat."""

    def check_room(self) -> None:
        """Raises ``EngineError`` when work outside calls would be refused now. Asked before a request's media are fetched and decoded."""
        ...

    def chat(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """The answer as it is made. Closing the iterator stops the work. Raises ``EngineError``: not ready, ``resource_exhausted``
        (retryable) while calls need the model, or what the model does not take.
        """
        ...
