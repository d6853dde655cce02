"""The process behind ``synthetic_calls``: makes the calls, says ``live``, and reports when its input ends."""

import asyncio
import io
import json
import sys
import time
from fractions import Fraction
from typing import Any

import av
import httpx
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from omnitalk.media.audio import Samples, encode
from omnitalk.protocol.binary_codec import SUBPROTOCOL, decode_server, encode_client
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.server import ResponseOutputAudioDelta
from omnitalk.transports.webrtc.ear import Packet
from omnitalk.transports.webrtc.inside import hear_with
from omnitalk.transports.webrtc.opus import FRAME_MS, RTP_FRAME, RTP_RATE, SPEECH_RATE, OpusEncoder

from .synthetic import lateness_ms

_PIECE_S = 0.02
_RATE = 16_000


def _hum(rate: int, seconds: float) -> Samples:
    """200 Hz, loud enough that no encoder takes it for silence; whole periods, so that it can go on for ever."""
    return (0.1 * np.sin(2 * np.pi * 200 * np.arange(int(rate * seconds)) / rate)).astype(np.float32)


_PICTURE_EVERY = 50
"""Pieces of sound between two pictures: one a second, as the page sends for a model with units of a second."""

_ACK_EVERY = 25
Arrivals = list[tuple[float, float]]


def picture() -> bytes:
    """A JPEG of 640 x 480 with something to look at, 30 to 50 kB."""
    from PIL import Image

    random = np.random.default_rng(1)
    coarse = Image.fromarray(random.integers(0, 255, (48, 64, 3), dtype=np.uint8)).resize((640, 480), Image.Resampling.BICUBIC)
    noisy = np.clip(np.asarray(coarse, np.int16) + random.normal(0, 6, (480, 640, 3)).astype(np.int16), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(noisy).save(out, "JPEG", quality=60)
    return out.getvalue()


class SocketCall:
    """A call over the WebSocket, in binary frames as the page sends them."""

    piece_ms = 1000 * _PIECE_S

    def __init__(self, order: dict[str, Any]) -> None:
        self._url = str(order["origin"]).replace("http", "ws", 1) + "/v1/realtime?duplex=1&autostart=0"
        piece = encode(_hum(_RATE, _PIECE_S), "pcm16")
        frames = [picture()] if order["camera"] else []
        self._plain = encode_client(InputAudioBufferAppend(audio=piece))
        self._seen = encode_client(InputAudioBufferAppend(audio=piece, video_frames=frames)) if frames else self._plain
        self._tasks: list[asyncio.Task[None]] = []
        self._socket: ClientConnection | None = None
        self.sent = 0
        self.arrivals: Arrivals = []

    async def open(self) -> None:
        """Live when this returns."""
        socket = self._socket = await connect(self._url, subprotocols=[SUBPROTOCOL], compression=None, proxy=None)  # type: ignore[list-item]
        await socket.send(json.dumps({"type": "session.update", "session": {}}))
        while (event := json.loads(await socket.recv()))["type"] != "session.created":
            if event["type"] in ("error", "omnitalk.queue"):
                raise RuntimeError(f"a synthetic call was not taken: {event}")
        self._tasks = [asyncio.create_task(self._speak(socket)), asyncio.create_task(self._listen(socket))]

    async def _speak(self, socket: ClientConnection) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(max(0.0, began + self.sent * _PIECE_S - time.monotonic()))
            await socket.send(self._seen if self.sent % _PICTURE_EVERY == 0 else self._plain)
            self.sent += 1

    async def _listen(self, socket: ClientConnection) -> None:
        samples = 0
        while True:
            data = await socket.recv()
            now = time.monotonic()
            if not isinstance(data, bytes):
                continue
            event = decode_server(data)
            if isinstance(event, ResponseOutputAudioDelta):
                self.arrivals.append((now, samples / event.sample_rate_hz))
                samples += len(event.delta) // 2
                if len(self.arrivals) % _ACK_EVERY == 0:
                    await socket.send(json.dumps({"type": "session.event_ack", "server_event_seq": event.server_event_seq}))
                    played = {"response_id": event.response_id, "played_ms": 1000.0 * samples / event.sample_rate_hz}
                    await socket.send(json.dumps({"type": "playback.ack", **played}))

    async def close(self) -> None:
        """Says goodbye. Raises what made it stop before, if anything did."""
        broke = [task for task in self._tasks if task.done()]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            try:
                await self._socket.send(json.dumps({"type": "session.close"}))
                await self._socket.close()
            except ConnectionClosed as gone:
                raise RuntimeError(f"the server closed a call: {gone}") from gone
        for task in broke:
            task.result()


class _Hum(MediaStreamTrack):
    """A microphone that hums, encoded beforehand: the caller's own work must not be what is measured."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        encoder = OpusEncoder()
        self._packets = [encoder.encode(_hum(SPEECH_RATE, FRAME_MS / 1000)) for _ in range(50)]
        self._began = 0.0
        self.sent = 0

    async def recv(self) -> "av.Packet[Any]":
        if self.readyState != "live":
            raise MediaStreamError
        self._began = self._began or time.monotonic()
        await asyncio.sleep(max(0.0, self._began + self.sent * FRAME_MS / 1000 - time.monotonic()))
        packet: av.Packet[Any] = av.Packet(self._packets[self.sent % len(self._packets)])
        packet.pts, packet.time_base = self.sent * RTP_FRAME, Fraction(1, RTP_RATE)
        self.sent += 1
        return packet


class _Stopwatch:
    """Stands where an ear would: notes when each packet came, and decodes nothing."""

    def __init__(self) -> None:
        self.arrivals: Arrivals = []
        self._last: int | None = None
        self._place = 0

    def add(self, packet: Packet) -> tuple[bool, None]:
        now = time.monotonic()
        if self._last is not None:
            self._place += (packet.timestamp - self._last + (1 << 31)) % (1 << 32) - (1 << 31)
        self._last = packet.timestamp
        self.arrivals.append((now, self._place / RTP_RATE))
        return False, None


class PeerCall:
    """A call over a peer connection; to our server, or to anything that answers an offer."""

    piece_ms = FRAME_MS

    def __init__(self, order: dict[str, Any]) -> None:
        self._offers, self._way = str(order["offers"]), str(order["way"])
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._hum, self._watch = _Hum(), _Stopwatch()
        self._channel = self._connection.createDataChannel("oai-events")
        self._open = asyncio.Event()
        self._camera: asyncio.Task[None] | None = None
        frames = [picture()] if order["camera"] else []
        self._picture = encode_client(InputAudioBufferAppend(video_frames=frames)) if frames else b""
        self._channel.on("open", self._open.set)
        self._channel.on("message", self._ack)

    @property
    def arrivals(self) -> Arrivals:
        return self._watch.arrivals

    async def open(self) -> None:
        """Live when this returns."""
        transceiver = self._connection.addTransceiver(self._hum, "sendrecv")
        hear_with(transceiver.receiver, self._watch)
        await self._connection.setLocalDescription(await self._connection.createOffer())
        async with httpx.AsyncClient(trust_env=False, timeout=30) as web:
            headers = {"content-type": "application/sdp"}
            answer = await web.post(self._offers, content=self._connection.localDescription.sdp, headers=headers)
        if answer.status_code != 201:
            raise RuntimeError(f"{self._offers} answered {answer.status_code}: {answer.text}")
        await self._connection.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        async with asyncio.timeout(20):
            await self._open.wait()
        if self._picture:
            self._camera = asyncio.create_task(self._show())

    def _ack(self, message: str | bytes) -> None:
        seq = json.loads(message).get("server_event_seq", 0)
        if seq and seq % 10 == 0 and self._channel.readyState == "open":
            self._channel.send(json.dumps({"type": "session.event_ack", "server_event_seq": seq}))

    async def _show(self) -> None:
        while True:
            self._channel.send(self._picture)
            await asyncio.sleep(_PICTURE_EVERY * _PIECE_S)

    async def close(self) -> None:
        """Says goodbye. Raises ``RuntimeError`` when the call had ended by itself."""
        gone = self._connection.connectionState != "connected"
        if self._camera is not None:
            self._camera.cancel()
            await asyncio.gather(self._camera, return_exceptions=True)
        await self._connection.close()
        if gone:
            raise RuntimeError(f"a synthetic call over {self._way} had ended by itself")


async def run(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Holds the calls until standard input ends."""
    make = SocketCall if order["way"] == "websocket" else PeerCall
    calls = [make(order) for _ in range(order["count"])]
    try:
        for call in calls:
            await call.open()
        print("live", flush=True)
        await asyncio.sleep(order["settle_s"])
        for call in calls:
            call.arrivals.clear()
        await asyncio.to_thread(sys.stdin.read)
        return [{"piece_ms": call.piece_ms, "lateness_ms": lateness_ms(list(call.arrivals))} for call in calls]
    finally:
        await asyncio.gather(*(call.close() for call in calls))


if __name__ == "__main__":
    try:
        print(json.dumps(asyncio.run(run(json.loads(sys.argv[1])))), flush=True)
    except RuntimeError as problem:
        sys.exit(f"omnitalk: {problem}")
