"""The one place that work outside calls has on the CPU: chat, reading aloud, transcribing. The others wait in a short line."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable

from omnitalk.engines.base import EngineError

__all__ = ["WorkPlace"]

_LONGEST_LINE = 16


class WorkPlace:
    """``calls`` says how many calls there are: nobody works beside one."""

    def __init__(self, calls: Callable[[], int]) -> None:
        self._calls = calls
        self._taken = False
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    def check(self) -> None:
        """Raises ``EngineError`` (``resource_exhausted``) when a call needs the model."""
        if self._calls():
            raise _busy("The model is busy with a call; ask again.")

    @contextlib.asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """The place, first come first served. Raises ``EngineError`` (``resource_exhausted``): a call, or too long a line."""
        self.check()
        if self._taken:
            await self._wait()
        self._taken = True
        try:
            self.check()
            yield
        finally:
            self._next()

    async def _wait(self) -> None:
        if len(self._line) >= _LONGEST_LINE:
            raise _busy(f"{_LONGEST_LINE} requests wait already; ask again.")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next()
            else:
                self._line.remove(turn)
            raise

    def _next(self) -> None:
        """Gives the place to whoever waits longest; it is never free in between, so nobody slips in."""
        if self._line:
            self._line.popleft().set_result(None)
        else:
            self._taken = False


def _busy(sentence: str) -> EngineError:
    return EngineError("resource_exhausted", sentence, kind="rate_limit_error", retryable=True)
