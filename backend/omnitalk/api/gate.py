"""How many requests are worked on at once."""

import contextlib
from collections.abc import Iterator

from omnitalk.protocol.errors import ProtocolError

__all__ = ["Gate"]


class Gate:
    """Lets ``most`` in. There is no line here: engines keep their own, short ones, and a client is told when to come back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.inside = 0
        self.refused = 0

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """A place. Raises ``ProtocolError`` (``rate_limit_exceeded``) when all are taken."""
        if self.inside >= self._most:
            self.refused += 1
            raise ProtocolError("rate_limit_exceeded", f"{self._most} requests are being answered already; ask again.", retryable=True)
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
