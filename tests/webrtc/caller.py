"""A peer as a browser would be one: aiortc, with a microphone that is fed and an ear that keeps what it hears."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame
from omnitalk.transports.webrtc.inside import place_sockets

from tests.websocket.live import PATIENCE_S, Event, Live, eventually

RATE = 48_000
FRAME = 960
Sound = npt.NDArray[np.float32]


class Microphone(MediaStreamTrack):
    """Silence, and what it is told to say; 20 ms at a time, by the clock."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._words = np.empty(0, np.float32)
        self._start: float | None = None
        self._frames = 0

    def say(self, samples: Sound) -> None:
        self._words = np.concatenate([self._words, samples])

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        if self.readyState != "live":
            raise MediaStreamError
        self._start = loop.time() if self._start is None else self._start
        await asyncio.sleep(max(0.0, self._start + self._frames * 0.02 - loop.time()))
        samples, self._words = self._words[:FRAME], self._words[FRAME:]
        pcm = np.zeros((1, FRAME), np.int16)
        pcm[0, : len(samples)] = (samples * 32767).astype(np.int16)
        frame = AudioFrame.from_ndarray(pcm, format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = RATE, Fraction(1, RATE), self._frames * FRAME
        self._frames += 1
        return frame


class Caller:
    """``events``: all that came on the data channel. ``heard``: all sound that came, at 48 kHz, one array a frame."""

    def __init__(self, live: Live, *, video: bool = False, headers: dict[str, str] | None = None) -> None:
        self.live, self.headers = live, headers or {}
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.connection.addTrack(self.microphone)
        if video:
            self.connection.addTransceiver("video")
        self.channel = self.connection.createDataChannel("oai-events")
        self.events: list[Event] = []
        self.heard: list[Sound] = []
        self.closed = asyncio.Event()
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.channel.on("message", self._on_message)
        self.channel.on("close", self.closed.set)
        self.connection.on("track", self._on_track)
        self.location = ""

    async def offer(self) -> str:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return self.connection.localDescription.sdp

    async def place(self) -> None:
        """Binds to the loopback address only; aioice leaves it out by itself."""
        for transceiver in self.connection.getTransceivers():
            place_sockets(transceiver.receiver.transport.transport, ["127.0.0.1"], None)
        assert self.connection.sctp is not None
        place_sockets(self.connection.sctp.transport.transport, ["127.0.0.1"], None)

    async def post(self, query: str = "", *, session: Event | None = None, resume: Event | None = None) -> httpx.Response:
        """Sends the offer, as SDP or as a form."""
        sdp = await self.offer()
        async with httpx.AsyncClient(base_url=f"http://{self.live.host}", headers=self.headers, trust_env=False, timeout=PATIENCE_S) as web:
            path = f"/v1/realtime/calls?{query}"
            if session is None and resume is None:
                return await web.post(path, content=sdp, headers={"content-type": "application/sdp"})
            files = {"sdp": (None, sdp, "application/sdp")}
            if session is not None:
                files["session"] = (None, json.dumps(session), "application/json")
            if resume is not None:
                files["resume"] = (None, json.dumps(resume), "application/json")
            return await web.post(path, files=files)

    async def dial(self, query: str = "", *, session: Event | None = None, resume: Event | None = None) -> None:
        """Gets through: the connection stands and the data channel is open."""
        await self.place()
        response = await self.post(query, session=session, resume=resume)
        assert response.status_code == 201, response.text
        assert response.headers["content-type"].startswith("application/sdp")
        self.location = response.headers["location"]
        await self.connection.setRemoteDescription(RTCSessionDescription(response.text, "answer"))
        await eventually(lambda: self.channel.readyState == "open")

    @property
    def call_id(self) -> str:
        return self.location.rsplit("/", 1)[-1]

    def send(self, type_: str, **fields: Any) -> None:
        self.channel.send(json.dumps({"type": type_, **fields}))

    def ask(self, text: str = "Please say hello.") -> None:
        self.send("conversation.item.create", item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        self.send("response.create")

    def of(self, type_: str) -> list[Event]:
        return [event for event in self.events if event["type"] == type_]

    async def until(self, wanted: str | Callable[[Event], bool]) -> Event:
        """The first such event, from the beginning of the call on."""
        async with asyncio.timeout(PATIENCE_S):
            seen = 0
            while True:
                self._arrived.clear()
                for event in self.events[seen:]:
                    if event["type"] == wanted if isinstance(wanted, str) else wanted(event):
                        return event
                seen = len(self.events)
                await self._arrived.wait()

    async def hears(self, enough: Callable[[Sound], bool], window: int = 25) -> Sound:
        """Waits until the newest frames satisfy a condition; returns all that was heard so far."""
        await eventually(lambda: len(self.heard) >= window and enough(np.concatenate(self.heard[-window:])))
        return np.concatenate(self.heard)

    async def close(self) -> None:
        self.microphone.stop()
        await self.connection.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_message(self, message: str | bytes) -> None:
        self.events.append(json.loads(message))
        self._arrived.set()

    def _on_track(self, track: MediaStreamTrack) -> None:
        task = asyncio.create_task(self._listen(track), name="caller's ear")
        self._tasks.add(task)

    async def _listen(self, track: MediaStreamTrack) -> None:
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                assert isinstance(frame, AudioFrame)
                pcm = np.asarray(frame.to_ndarray(), np.float32).reshape(-1)[:: len(frame.layout.channels)]
                self.heard.append(pcm / np.float32(32768.0))


@contextlib.asynccontextmanager
async def calling(live: Live, query: str = "", *, headers: dict[str, str] | None = None, **how: Any) -> AsyncIterator[Caller]:
    """A caller who got through; gone afterwards."""
    caller = Caller(live, headers=headers)
    try:
        await caller.dial(query, **how)
        yield caller
    finally:
        await caller.close()


def tone(samples: Sound, rate: int = RATE) -> float:
    """The strongest frequency, Hz."""
    spectrum = np.abs(np.fft.rfft(samples.astype(np.float64) * np.hanning(samples.size)))
    return float(np.argmax(spectrum) * rate / samples.size)


def loud(samples: Sound) -> bool:
    return bool(np.sqrt(np.mean(samples**2)) > 0.02)


def voice(seconds: float, hz: float = 220.0) -> Sound:
    """Something loud enough to count as speech."""
    return np.asarray(0.3 * np.sin(2 * np.pi * hz * np.arange(int(seconds * RATE)) / RATE), np.float32)
