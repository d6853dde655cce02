"""The microphone of a call: RTP packets in, 16 kHz sound out, with nothing waited for that need not be.

A packet that comes in its turn is decoded at once. One that comes early waits for its predecessors, up to ``_PATIENCE``; then what is
missing is taken for lost, and silence stands in for it so that the sound keeps its length.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from omnitalk.media.audio import Samples
from omnitalk.media.decimation import Decimator

from .opus import RTP_FRAME, RTP_RATE, OpusDecoder

__all__ = ["EAR_RATE", "Ear", "Packet"]

EAR_RATE = 16_000
"""What recognisers and models listen at."""

_PATIENCE = RTP_RATE * 60 // 1000
"""Sound (60 ms) that may wait for an older packet: reordering on real networks is shorter, and a loss costs no more than this."""

_MOST_EARLY = 12
"""Packets that may wait, whatever their timestamps say."""

_MAX_GAP = RTP_RATE
"""A hole of up to a second is filled with silence; after a longer one the sender had stopped, and nobody waits for its silence."""

_RESTART = 1_000
"""A packet this far from its turn belongs to a sender that started anew."""


class Packet(Protocol):
    """What is read of an RTP packet."""

    sequence_number: int
    timestamp: int
    payload: bytes


class Ear:
    """Takes the place of aiortc's jitter buffer. ``hear`` is called with each piece of sound, at ``EAR_RATE``."""

    def __init__(self, hear: Callable[[Samples], None]) -> None:
        self._hear = hear
        self._decoder = OpusDecoder()
        self._decimator = Decimator(RTP_RATE // EAR_RATE)
        self._early: dict[int, Packet] = {}
        self._next_sequence: int | None = None
        self._next_timestamp: int | None = None
        self.received = self.lost = self.late = self.unreadable = 0

    def add(self, packet: Packet) -> tuple[bool, None]:
        """One packet, in any order. The answer tells aiortc that there is nothing left for its own decoder."""
        self.received += 1
        expected = self._next_sequence
        ahead = 0 if expected is None else _distance(expected, packet.sequence_number, 16)
        if abs(ahead) > _RESTART:
            self._early.clear()
            self._next_timestamp = None
            ahead = 0
        if ahead < 0:
            self.late += 1
        elif ahead == 0:
            self._take(packet)
            self._catch_up()
        else:
            self._early[packet.sequence_number] = packet
            waited = 0 if self._next_timestamp is None else _distance(self._next_timestamp, packet.timestamp, 32)
            if waited > _PATIENCE or len(self._early) > _MOST_EARLY:
                self._give_up_waiting()
        return False, None

    def _catch_up(self) -> None:
        while self._early and (packet := self._early.pop(self._next_sequence or 0, None)) is not None:
            self._take(packet)

    def _give_up_waiting(self) -> None:
        expected = self._next_sequence or 0
        nearest = min(self._early, key=lambda number: _distance(expected, number, 16))
        self.lost += _distance(expected, nearest, 16)
        self._take(self._early.pop(nearest))
        self._catch_up()

    def _take(self, packet: Packet) -> None:
        self._next_sequence = (packet.sequence_number + 1) % (1 << 16)
        sound = self._decoder.decode(packet.payload) if packet.payload else None
        if sound is None and packet.payload:
            self.unreadable += 1
        length = RTP_FRAME if sound is None else len(sound)
        if self._next_timestamp is not None:
            gap = _distance(self._next_timestamp, packet.timestamp, 32)
            if 0 < gap <= _MAX_GAP:
                self._emit(np.zeros(gap, np.float32))
        self._next_timestamp = (packet.timestamp + length) % (1 << 32)
        self._emit(np.zeros(length, np.float32) if sound is None else sound)

    def _emit(self, sound: Samples) -> None:
        heard = self._decimator.process(sound)
        if len(heard):
            self._hear(heard)


def _distance(start: int, end: int, bits: int) -> int:
    """From one counter to another that wraps, the short way round; negative is backwards."""
    span = 1 << bits
    return (end - start + span // 2) % span - span // 2
