"""What a program gets that answers a browser with aiortc as it comes: a peer's sound goes back through a relay, default settings."""

import asyncio
import time
from collections import deque
from typing import Final

import numpy as np
from aiortc import RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaRelay
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from av import AudioFrame

from omnitalk.engines.echo import Arrival
from omnitalk.media.audio import Samples

__all__ = ["AiortcEcho", "EchoedPeer"]

_KEPT: Final = 60_000


class EchoedPeer:
    """One peer. ``arrivals`` and ``heard`` as an ``EchoSession``'s, at aiortc's 48 kHz, once ``keep_sound`` is True."""

    rate: Final = 48_000

    def __init__(self) -> None:
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.keep_sound = False
        self.arrivals: deque[Arrival] = deque(maxlen=_KEPT)
        self._kept: deque[Samples] = deque(maxlen=_KEPT)
        self._heard = 0
        self._relay = MediaRelay()
        self._tap: asyncio.Task[None] | None = None
        self._channels: list[RTCDataChannel] = []
        self.connection.on("datachannel", self._channels.append)
        self.connection.on("track", self._on_track)

    async def answer(self, offer: str) -> str:
        """The SDP answer."""
        await self.connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        return self.connection.localDescription.sdp

    def heard(self) -> Samples:
        """The sound since ``keep_sound`` was set."""
        return np.concatenate([*self._kept]) if self._kept else np.empty(0, np.float32)

    async def close(self) -> None:
        """Lets go of the connection."""
        if self._tap is not None:
            self._tap.cancel()
            await asyncio.gather(self._tap, return_exceptions=True)
        await self.connection.close()

    def _on_track(self, track: MediaStreamTrack) -> None:
        self.connection.addTrack(self._relay.subscribe(track))
        self._tap = asyncio.create_task(self._note(self._relay.subscribe(track)), name="aiortc echo tap")

    async def _note(self, track: MediaStreamTrack) -> None:
        try:
            while True:
                frame = await track.recv()
                if self.keep_sound and isinstance(frame, AudioFrame):
                    pcm = np.asarray(frame.to_ndarray()).reshape(-1)[:: len(frame.layout.channels)]
                    self.arrivals.append(Arrival(time.time() * 1000.0, self._heard, self._heard + len(pcm)))
                    self._heard += len(pcm)
                    self._kept.append(pcm.astype(np.float32) / np.float32(32768.0))
        except MediaStreamError:
            return


class AiortcEcho:
    """All peers of the comparison. ``sessions``: those connected or connecting, by number."""

    def __init__(self) -> None:
        self.sessions: dict[int, EchoedPeer] = {}
        self._made = 0
        self._closing: set[asyncio.Task[None]] = set()

    async def call(self, offer: str) -> str:
        """A new peer for this offer; the SDP answer."""
        peer, number = EchoedPeer(), self._made
        self._made += 1
        self.sessions[number] = peer

        def on_state() -> None:
            if peer.connection.connectionState in ("failed", "closed") and self.sessions.pop(number, None) is not None:
                closing = asyncio.create_task(peer.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)

        peer.connection.on("connectionstatechange", on_state)
        return await peer.answer(offer)

    async def hang_up(self, number: int) -> None:
        """Hangs up on one peer, if it is still there."""
        peer = self.sessions.pop(number, None)
        if peer is not None:
            await peer.close()

    async def close(self) -> None:
        """Hangs up on everybody."""
        await asyncio.gather(*(self.hang_up(number) for number in list(self.sessions)))
        await asyncio.gather(*self._closing)
