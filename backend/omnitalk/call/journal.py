"""The journal: every numbered event of a call, kept until the client has it. It is the outbox and the replay buffer at once.

A transport is a cursor into it. It is bounded in bytes and, for what was sent, in age. What a full journal gives up first is the
oldest sound (counted); only when no sound is left does it give up other events, and then a client that missed them must resync.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

import msgspec

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import (
    ResponseOutputAudioDelta,
    ResponseOutputAudioTranscriptDelta,
    ResponseOutputTextDelta,
)

from .clock import Clock
from .config import JournalConfig

__all__ = ["Entry", "Journal", "event_size"]

_OVERHEAD = 300
"""Bytes of an event beside its sound or text: ids, names, Python objects. Rough on purpose."""

TextDelta = ResponseOutputAudioTranscriptDelta | ResponseOutputTextDelta


def event_size(event: ServerEvent) -> int:
    """About how many bytes an event keeps in memory."""
    if isinstance(event, ResponseOutputAudioDelta):
        return len(event.delta) + _OVERHEAD
    if isinstance(event, TextDelta):
        return len(event.delta) + _OVERHEAD
    return len(msgspec.json.encode(event)) + _OVERHEAD


@dataclass(slots=True)
class Entry:
    """One numbered event. ``audio_ms``: how much sound it carries. ``sent_at``: when a transport took it, None = not yet."""

    seq: int
    event: ServerEvent
    size: int
    kind: Literal["audio", "text", "other"]
    response_id: str | None
    audio_ms: float
    sent_at: float | None = None


class Journal:
    """Numbered events in order. Numbers start at 1, only rise, and may have holes where sound was taken out."""

    def __init__(self, config: JournalConfig, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._entries: list[Entry] = []
        self._bytes = 0
        self._lost_through = 0
        self.acked_through = 0
        self.last_seq = 0
        self._lost: list[tuple[str, float]] = []
        self.dropped_audio_ms = 0.0
        self.dropped_events = 0

    @property
    def bytes(self) -> int:
        """What the journal holds now."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, event: ServerEvent, *, audio_ms: float = 0.0) -> Entry:
        """Numbers an event and keeps it, giving up older ones when the bounds ask for it."""
        self.last_seq += 1
        kind: Literal["audio", "text", "other"] = "other"
        response_id = None
        if isinstance(event, ResponseOutputAudioDelta):
            kind, response_id = "audio", event.response_id
        elif isinstance(event, TextDelta):
            kind, response_id = "text", event.response_id
        event.server_event_seq = self.last_seq
        entry = Entry(self.last_seq, event, event_size(event), kind, response_id, audio_ms)
        self._entries.append(entry)
        self._bytes += entry.size
        self.trim()
        return entry

    def ack(self, seq: int) -> bool:
        """The client has everything up to ``seq``. False when that is no news. A number we never gave is taken as our last."""
        seq = min(seq, self.last_seq)
        if seq <= self.acked_through:
            return False
        self.acked_through = seq
        self._forget(self._index(seq))
        return True

    def next(self, cursor: int) -> Entry | None:
        """The first event after ``cursor``, marked as sent."""
        index = self._index(cursor)
        if index == len(self._entries):
            return None
        entry = self._entries[index]
        entry.sent_at = self._clock.now()
        return entry

    def missed(self, cursor: int) -> bool:
        """Whether events after ``cursor`` are gone that a client needed."""
        return cursor < max(self._lost_through, self.acked_through)

    @property
    def first_safe_cursor(self) -> int:
        """The lowest cursor that misses nothing."""
        return max(self._lost_through, self.acked_through)

    def rewind(self, cursor: int) -> list[Entry]:
        """Marks what lies after ``cursor`` as not sent, and returns those that had been: they were lost on the way."""
        lost = [entry for entry in self._entries[self._index(cursor) :] if entry.sent_at is not None]
        for entry in lost:
            entry.sent_at = None
        return lost

    def drop_response_audio(self, response_id: str) -> float:
        """Takes out a response's sound, sent or not, and its words that were not sent. Returns the ms of sound not yet sent."""
        unsent = sum(entry.audio_ms for entry in self._entries if entry.response_id == response_id and entry.sent_at is None)
        self._entries = [
            entry for entry in self._entries if entry.response_id != response_id or (entry.kind == "text" and entry.sent_at is not None)
        ]
        self._bytes = sum(entry.size for entry in self._entries)
        return unsent

    def take_lost(self) -> list[tuple[str, float]]:
        """Response and ms of the sound that was given up unsent since the last time this was asked."""
        lost, self._lost = self._lost, []
        return lost

    def trim(self) -> None:
        """Keeps the bounds. Cheap; called on every append and by the call's tick."""
        oldest = self._clock.now() - self._config.max_age_s
        aged = 0
        for entry in self._entries:
            if entry.sent_at is None or entry.sent_at >= oldest:
                break
            aged += 1
        if aged:
            self._lost_through = max(self._lost_through, self._entries[aged - 1].seq)
            self._forget(aged)
        if self._bytes > self._config.max_bytes:
            self._drop_oldest_audio()
        while self._bytes > self._config.max_bytes and len(self._entries) > 1:
            self._lost_through = self._entries[0].seq
            self.dropped_events += 1
            self._forget(1)

    def _drop_oldest_audio(self) -> None:
        """The newest entry stays: what was just said is what the person waits for."""
        kept: list[Entry] = []
        for index, entry in enumerate(self._entries):
            if entry.kind == "audio" and self._bytes > self._config.max_bytes and index < len(self._entries) - 1:
                self._bytes -= entry.size
                self.dropped_audio_ms += entry.audio_ms
                if entry.sent_at is None and entry.response_id is not None:
                    self._lost.append((entry.response_id, entry.audio_ms))
            else:
                kept.append(entry)
        self._entries = kept

    def _index(self, seq: int) -> int:
        return bisect_right(self._entries, seq, key=lambda entry: entry.seq)

    def _forget(self, count: int) -> None:
        self._bytes -= sum(entry.size for entry in self._entries[:count])
        del self._entries[:count]
