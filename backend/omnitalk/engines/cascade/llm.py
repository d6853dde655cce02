"""What the cascade asks of a language model, whoever runs it."""

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

__all__ = ["ChatMessage", "LanguageModel", "LlmChunk", "LlmSeat", "LlmUsage"]

ChatMessage = dict[str, str]
"""``{"role": system | user | assistant, "content": …}``."""


class LlmUsage(NamedTuple):
    """Tokens of one request. ``cached_tokens`` of the prompt needed no work."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class LlmChunk(NamedTuple):
    """More text, or (last) the usage and why the text ended: ``stop`` or ``length``."""

    text: str = ""
    usage: LlmUsage | None = None
    finish_reason: str | None = None


class LlmSeat(Protocol):
    """One call's place at the model."""

    def stream(
        self, messages: list[ChatMessage], *, max_tokens: int, temperature: float | None, stop: tuple[str, ...] = ()
    ) -> AsyncGenerator[LlmChunk, None]:
        """The answer as it is written, up to the first of ``stop``. Closing the generator stops the work. Raises ``EngineError``."""
        ...

    async def prefill(self, messages: list[ChatMessage]) -> None:
        """Read these messages ahead of the next ``stream``, where that helps; else do nothing."""
        ...

    def look(self, jpeg: bytes) -> None:
        """What the person's camera shows now; it goes with the next turn. Only where the model ``sees``."""
        ...

    @property
    def looked(self) -> bool:
        """Whether the last request carried a picture (whose tokens no text accounts for)."""
        ...

    def close(self) -> None:
        """Give the place back."""
        ...


class LanguageModel(Protocol):
    """A loaded (or reachable) model."""

    name: str
    context_tokens: int
    sees: bool

    async def start(self) -> None:
        """Load and warm up, or check that it can be reached. Raises ``EngineError``."""
        ...

    def seat(self, key: str) -> LlmSeat:
        """A place for the call ``key``. Raises ``EngineError`` when none is free."""
        ...

    async def stop(self) -> None:
        """Free everything. Idempotent."""
        ...
