"""The lane: a response's events that wait until the person has heard more of what was sent before.

Numbers are given when an event leaves the lane, so what a cut takes out of it was never promised to anyone.
"""

from collections import deque

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import (
    ConversationItemAdded,
    ConversationItemCreated,
    ConversationItemDone,
    OutputAudioBufferStarted,
    OutputAudioBufferStopped,
    RateLimitsUpdated,
    ResponseOutputAudioDelta,
)

from .journal import TextDelta, event_size

__all__ = ["Lane", "belongs_to_response", "response_of"]


def response_of(event: ServerEvent) -> str | None:
    """The response that an event is about."""
    found = getattr(event, "response_id", None)
    return found if isinstance(found, str) else None


def belongs_to_response(event: ServerEvent) -> bool:
    """Whether an event has its place in the order of a response, as opposed to one that must never wait behind sound."""
    if isinstance(event, ConversationItemAdded | ConversationItemCreated | ConversationItemDone):
        return event.item.get("role") == "assistant" or event.item.get("type") == "function_call"
    return event.type.startswith("response.") or isinstance(event, OutputAudioBufferStarted | OutputAudioBufferStopped | RateLimitsUpdated)


class Lane:
    """A bounded FIFO of events. When it is full the oldest sound is given up, and counted."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._events: deque[tuple[ServerEvent, int, float]] = deque()
        self._bytes = 0
        self._lost: list[tuple[str, float]] = []

    def __len__(self) -> int:
        return len(self._events)

    @property
    def head(self) -> ServerEvent | None:
        """The event that leaves next."""
        return self._events[0][0] if self._events else None

    def push(self, event: ServerEvent, audio_ms: float) -> None:
        """Adds an event at the end."""
        size = event_size(event)
        self._events.append((event, size, audio_ms))
        self._bytes += size
        if self._bytes > self._max_bytes:
            self._drop_oldest_audio()

    def pop(self) -> tuple[ServerEvent, float]:
        """The next event and the ms of sound that it carries."""
        event, size, audio_ms = self._events.popleft()
        self._bytes -= size
        return event, audio_ms

    def cut(self, response_id: str) -> list[ServerEvent]:
        """Takes a response out: its sound and words are gone, its other events are returned in order."""
        rest: list[ServerEvent] = []
        kept: deque[tuple[ServerEvent, int, float]] = deque()
        # An item's own events carry no response id: they belong to the response whose events stand around them.
        current: str | None = None
        for event, size, audio_ms in self._events:
            current = response_of(event) or current
            if current != response_id:
                kept.append((event, size, audio_ms))
            elif not isinstance(event, ResponseOutputAudioDelta | TextDelta):
                rest.append(event)
        self._events = kept
        self._bytes = sum(size for _, size, _ in kept)
        return rest

    def take_lost(self) -> list[tuple[str, float]]:
        """Response and ms of the sound that was given up since the last time this was asked."""
        lost, self._lost = self._lost, []
        return lost

    def clear(self) -> None:
        """Forgets everything."""
        self._events.clear()
        self._bytes = 0

    def _drop_oldest_audio(self) -> None:
        kept: deque[tuple[ServerEvent, int, float]] = deque()
        for event, size, audio_ms in self._events:
            if self._bytes > self._max_bytes and isinstance(event, ResponseOutputAudioDelta):
                self._bytes -= size
                self._lost.append((event.response_id, audio_ms))
            else:
                kept.append((event, size, audio_ms))
        self._events = kept
