"""An answer begun before the turn is certain to be over: adopted when the bet is won, stopped when it is lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from omnitalk.engines.base import EngineError

from .llm import ChatMessage, LlmChunk, LlmSeat
from .options import ReplyOptions

__all__ = ["Draft"]

_AHEAD = 256
"""Chunks written before anybody reads; a reply that is longer waits for its reader."""


class Draft:
    """``run`` writes, in a task of its own; ``chunks`` reads. Cancelling the task stops the model's work."""

    def __init__(self, seat: LlmSeat, messages: list[ChatMessage], options: ReplyOptions) -> None:
        self._seat, self._messages, self._options = seat, messages, options
        self._chunks: asyncio.Queue[LlmChunk | EngineError | None] = asyncio.Queue(_AHEAD)
        self._task: asyncio.Task[object] | None = None
        self._stopped = False

    async def run(self) -> None:
        """Write until the end; a failure is told to the reader."""
        self._task = asyncio.current_task()
        options = self._options
        stream = self._seat.stream(self._messages, max_tokens=options.max_tokens, temperature=options.temperature)
        try:
            async with aclosing(stream):
                async for chunk in stream:
                    await self._chunks.put(chunk)
            await self._chunks.put(None)
        except EngineError as error:
            await self._chunks.put(error)
        except asyncio.CancelledError:
            self._stopped = True
            raise

    def fits(self, messages: list[ChatMessage], options: ReplyOptions) -> bool:
        """Whether it answers exactly this."""
        same = (self._options.max_tokens, self._options.temperature) == (options.max_tokens, options.temperature)
        return same and not self._stopped and self._task is not None and messages == self._messages

    def drop(self) -> None:
        """Stop writing. Idempotent."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def chunks(self) -> AsyncGenerator[LlmChunk, None]:
        """What has been and is being written. Closing the generator drops the draft. Raises ``EngineError``."""
        try:
            while (item := await self._chunks.get()) is not None:
                if isinstance(item, EngineError):
                    raise item
                yield item
        finally:
            self.drop()
