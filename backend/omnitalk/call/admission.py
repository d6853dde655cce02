"""Admission: a fixed number of slots, and a fair line in front of them.

Pure bookkeeping. Whoever holds a ticket asks for its place, keeps it alive with ``touch`` while it waits, ``claim``s it once it is
granted and ``release``s it when the call ends. A ticket that nobody touches is given up, so a caller who vanished blocks no one.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import OmnitalkQueue

from .clock import Clock

__all__ = ["Admission", "AdmissionConfig", "Ticket"]


class AdmissionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``slots``: calls at once. ``queue``: how many may wait. ``abandoned_s``: how long an untouched ticket lives.

    ``learn_from``: how many past calls the estimate of a wait is made of.
    """

    slots: int = 1
    queue: int = 32
    abandoned_s: float = 15.0
    learn_from: int = 64


@dataclass(slots=True, eq=False)
class Ticket:
    """A place. ``gone``: left, refused, abandoned or over."""

    state: Literal["waiting", "granted", "active", "gone"] = "waiting"
    touched_at: float = 0.0
    active_at: float = field(default=0.0, repr=False)


class Admission:
    """Slots and the line. First come, first served; a place in the line only ever gets better."""

    def __init__(self, config: AdmissionConfig, clock: Clock) -> None:
        if config.slots < 1 or config.queue < 0:
            raise ValueError("Admission needs at least one slot and a queue of zero or more.")
        self._config, self._clock = config, clock
        self._waiting: deque[Ticket] = deque()
        self._holding: set[Ticket] = set()
        self._lengths_s: deque[float] = deque(maxlen=config.learn_from)
        self._closed: str | None = None
        self.refused = 0
        self.abandoned = 0

    @property
    def active(self) -> int:
        """Slots in use, granted ones included."""
        return len(self._holding)

    @property
    def waiting(self) -> int:
        """Length of the line."""
        return len(self._waiting)

    def request(self) -> Ticket:
        """A ticket, granted at once when a slot is free and nobody waits.

        Raises ``ProtocolError``: resource_exhausted (the line is full) or server_draining; both retryable.
        """
        if self._closed is not None:
            raise ProtocolError("server_draining", self._closed, retryable=True)
        self.tick()
        ticket = Ticket(touched_at=self._clock.now())
        if len(self._holding) >= self._config.slots and len(self._waiting) >= self._config.queue:
            self.refused += 1
            raise ProtocolError(
                "resource_exhausted",
                f"All {self._config.slots} lines are busy and {len(self._waiting)} callers wait already. Please try again later.",
                retryable=True,
            )
        self._waiting.append(ticket)
        self._grant()
        return ticket

    def claim(self, ticket: Ticket) -> None:
        """The call of a granted ticket begins. Raises ``ProtocolError(resource_exhausted)`` when the ticket is not granted (any more)."""
        if ticket.state != "granted":
            raise ProtocolError("resource_exhausted", "This place in the line was given up. Please call again.", retryable=True)
        ticket.state, ticket.active_at = "active", self._clock.now()

    def touch(self, ticket: Ticket) -> None:
        """Its holder is still there."""
        ticket.touched_at = self._clock.now()

    def release(self, ticket: Ticket) -> None:
        """Its call is over, or its holder left. Idempotent."""
        if ticket.state == "active":
            self._lengths_s.append(self._clock.now() - ticket.active_at)
        if ticket.state == "waiting":
            self._waiting.remove(ticket)
        self._holding.discard(ticket)
        ticket.state = "gone"
        self._grant()

    def place(self, ticket: Ticket) -> OmnitalkQueue:
        """What its holder is told: position (1 is next), length of the line, estimated wait. Raises ``ValueError`` unless it waits."""
        position = self._waiting.index(ticket) + 1
        wait = self.estimated_wait_s(position)
        return OmnitalkQueue(position=position, length=len(self._waiting), estimated_wait_ms=None if wait is None else round(wait * 1000))

    def estimated_wait_s(self, position: int) -> float | None:
        """Seconds until the caller at ``position`` is served, if calls last as they did; None before one has ended.

        A call that already lasts longer than the mean is expected to last half a mean more, not to end at once.
        """
        if not self._lengths_s:
            return None
        mean = sum(self._lengths_s) / len(self._lengths_s)
        now = self._clock.now()
        ends = [self._remaining(now - ticket.active_at if ticket.state == "active" else 0.0, mean) for ticket in self._holding]
        ends += [0.0] * (self._config.slots - len(ends))
        heapq.heapify(ends)
        wait = 0.0
        for _ in range(position):
            wait = heapq.heappop(ends)
            heapq.heappush(ends, wait + mean)
        return wait

    def tick(self) -> None:
        """Gives up tickets that were granted or waiting and that nobody has touched."""
        oldest = self._clock.now() - self._config.abandoned_s
        for ticket in [*self._waiting, *self._holding]:
            if ticket.state in ("waiting", "granted") and ticket.touched_at < oldest:
                self.abandoned += 1
                self.release(ticket)

    def next_deadline(self) -> float | None:
        """When ``tick`` may have something to do."""
        touched = [t.touched_at for t in (*self._waiting, *self._holding) if t.state in ("waiting", "granted")]
        return min(touched) + self._config.abandoned_s + 0.001 if touched else None

    def close(self, reason: str) -> list[Ticket]:
        """Takes no new callers and empties the line. Returns those who waited. Calls in progress go on."""
        self._closed = reason
        waited = list(self._waiting)
        for ticket in waited:
            ticket.state = "gone"
        self._waiting.clear()
        return waited

    @staticmethod
    def _remaining(elapsed_s: float, mean_s: float) -> float:
        return mean_s - elapsed_s if elapsed_s < mean_s else mean_s / 2.0

    def _grant(self) -> None:
        while self._waiting and len(self._holding) < self._config.slots:
            ticket = self._waiting.popleft()
            ticket.state, ticket.touched_at = "granted", self._clock.now()
            self._holding.add(ticket)
