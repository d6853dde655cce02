"""A session's events on their way out: in order, bounded, one reader."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from omnitalk.engines.base import EngineEvent, EngineFailed, NearEnd
from omnitalk.protocol import server

__all__ = ["Outbox"]

_ROOM = 256
"""Events waiting beyond which a reply pauses (``room``)."""

_MOST = 4_096
"""Events waiting beyond which the reader counts as gone: the session fails."""

_MOST_FRAMES = 64
"""Voice-activity frames waiting: 2 s. Older ones are dropped and counted, they are about now or about nothing."""

_SOUND = (server.ResponseOutputAudioDelta, server.ResponseOutputAudioTranscriptDelta, server.ResponseOutputTextDelta)


class Outbox:
    """``emit`` never waits; ``room`` waits for the reader; iterating gives the events and ends after ``close``."""

    def __init__(self) -> None:
        self.dropped_frames = 0
        self._events: deque[EngineEvent] = deque()
        self._frames = 0
        self._closed = False
        self._changed = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()

    def __len__(self) -> int:
        return len(self._events)

    def emit(self, event: EngineEvent) -> None:
        """Add an event; after ``close`` it is forgotten."""
        if self._closed:
            return
        if isinstance(event, NearEnd):
            if self._frames >= _MOST_FRAMES:
                self._drop_oldest_frame()
            self._frames += 1
        elif len(self._events) >= _MOST:
            self._events.clear()
            self._frames = 0
            event = EngineFailed(code="engine_backpressure", message="The session's events were not read; it has ended.")
            self._closed = True
        self._events.append(event)
        if len(self._events) >= _ROOM:
            self._drained.clear()
        self._changed.set()

    def _drop_oldest_frame(self) -> None:
        index = next(index for index, event in enumerate(self._events) if isinstance(event, NearEnd))
        del self._events[index]
        self._frames -= 1
        self.dropped_frames += 1

    def drop_deltas(self, response_id: str) -> None:
        """Take back the deltas of a response that nobody has read yet."""
        kept = [event for event in self._events if not (isinstance(event, _SOUND) and event.response_id == response_id)]
        self._events.clear()
        self._events.extend(kept)
        if len(self._events) < _ROOM:
            self._drained.set()

    async def room(self) -> None:
        """Return when the reader has caught up."""
        await self._drained.wait()

    def close(self) -> None:
        """No more events; what waits is still read. Idempotent."""
        self._closed = True
        self._changed.set()
        self._drained.set()

    async def events(self) -> AsyncIterator[EngineEvent]:
        """The events in order, until closed and empty."""
        while True:
            while self._events:
                event = self._events.popleft()
                if isinstance(event, NearEnd):
                    self._frames -= 1
                if len(self._events) < _ROOM:
                    self._drained.set()
                yield event
            if self._closed:
                return
            self._changed.clear()
            await self._changed.wait()
