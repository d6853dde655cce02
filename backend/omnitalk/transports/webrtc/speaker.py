"""The track that a peer hears: a packet every 10 ms for as long as the call lasts, speech or silence, by the monotonic clock."""

import asyncio
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Any

import av
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

from omnitalk.call.clock import Clock

from .mouth import Mouth, Progress
from .opus import RTP_FRAME, RTP_RATE, OpusEncoder

__all__ = ["Speaker"]

_FRAME_S = RTP_FRAME / RTP_RATE
_TIME_BASE = Fraction(1, RTP_RATE)

_AWAY_S = 0.7
"""A microphone never stops sending; when nothing came for so long, nothing gets there either. Longer than the gaps of bad Wi-Fi."""

_TOO_LATE_S = 0.1
"""After a stall longer than this the clock leaps instead of catching up: a burst would stay in the listener's buffer as delay."""


class Speaker(MediaStreamTrack):
    """Never stalls: a peer whose RTP clock stood still plays what comes next late, for the rest of the call."""

    kind = "audio"

    def __init__(
        self,
        mouth: Mouth,
        tell: Callable[[Progress], None],
        clock: Clock,
        quiet_s: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        waits: Callable[[bool], None] = lambda away: None,
    ) -> None:
        """``quiet_s``: for how long nothing has come from the peer; 0 of one whose silence means nothing. ``sleep``: by that clock.

        ``waits``: told when the peer is out of reach, and when it is back.
        """
        super().__init__()
        self._sleep = sleep
        self._mouth, self._tell, self._clock, self._quiet_s, self._waits = mouth, tell, clock, quiet_s, waits
        self._encoder = OpusEncoder()
        self._start: float | None = None
        self._frames = 0
        self.leaps = 0

    async def recv(self) -> "av.Packet[Any]":
        """The next packet, when it is due."""
        if self.readyState != "live":
            raise MediaStreamError
        now = self._clock.now()
        if self._start is None:
            self._start = now
        ahead = self._start + self._frames * _FRAME_S - now
        if ahead > 0:
            await self._sleep(ahead)
        elif ahead < -_TOO_LATE_S:
            missed = int(-ahead / _FRAME_S)
            self._frames += missed
            self._mouth.fell_behind(missed)
            self.leaps += 1
        if ahead > -_FRAME_S:
            # After a stall of our own, what came meanwhile may not have been read yet.
            self._mind_the_gap(self._quiet_s())
        samples, told = self._mouth.next_frame()
        packet: av.Packet[Any] = av.Packet(self._encoder.encode(samples))
        packet.pts = self._frames * RTP_FRAME
        packet.time_base = _TIME_BASE
        self._frames += 1
        for progress in told:
            self._tell(progress)
        return packet

    def _mind_the_gap(self, quiet_s: float) -> None:
        mouth = self._mouth
        if quiet_s > _AWAY_S and not mouth.away:
            mouth.miss(quiet_s * 1000.0)
            self._waits(True)
        elif quiet_s <= _AWAY_S and mouth.away:
            mouth.away = False
            self._waits(False)
