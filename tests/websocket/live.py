"""A real server on a free port, a client that speaks JSON to it, and a wire between them that can be cut."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fastapi import FastAPI
from omnitalk.api.app import create_app
from omnitalk.api.state import state_of_app
from omnitalk.engines.base import Engine
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.hub import Hub
from omnitalk.server import listen, make_server
from omnitalk.settings import ServeSettings
from omnitalk.transports.websocket import SocketConfig
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE_S = 20.0
DUPLEX = "duplex=1&autostart=0"
Event = dict[str, Any]


@dataclass
class Live:
    """``url`` without scheme: host and port."""

    app: FastAPI
    engine: Engine
    host: str

    @property
    def hub(self) -> Hub:
        return state_of_app(self.app).hub

    def ws(self, query: str = DUPLEX, path: str = "/v1/realtime") -> str:
        return f"ws://{self.host}{path}?{query}"


@contextlib.asynccontextmanager
async def serving(
    engine: Engine | None = None, *, socket: SocketConfig | None = None, ready: bool = True, **settings: Any
) -> AsyncIterator[Live]:
    """The server as ``omnitalk serve`` runs it, in this test's loop; drained and stopped afterwards."""
    settings.setdefault("engine", "scripted")
    chosen = ServeSettings(**settings)
    engine = engine or ScriptedEngine(max_sessions=4)
    app = create_app(chosen, engine, socket=socket)
    listener = listen("127.0.0.1", 0)
    server = make_server(chosen, app)
    running = asyncio.create_task(server.serve(sockets=[listener]), name="uvicorn")
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not server.started or (ready and not engine.health().ready):
                assert not running.done(), "the server did not start"
                await asyncio.sleep(0.005)
        yield Live(app, engine, f"127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE_S):
            await running
        listener.close()


@dataclass
class Talker:
    """One client socket. ``events``: everything that came, in order. ``last_seq``: the newest numbered event."""

    socket: ClientConnection
    events: list[Event] = field(default_factory=list)
    last_seq: int = 0
    session_id: str = ""
    token: str = ""

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def raw(self, data: str | bytes) -> None:
        await self.socket.send(data)

    async def next(self) -> Event:
        """The next event; fails after a while, or with ``ConnectionClosed``."""
        async with asyncio.timeout(PATIENCE_S):
            data = await self.socket.recv()
        event: Event = json.loads(data)
        self.events.append(event)
        self.last_seq = event.get("server_event_seq", self.last_seq)
        if event["type"] in ("session.created", "session.resumed"):
            self.session_id, self.token = event["session_id"], event["resume_token"]
        return event

    async def until(self, *wanted: str | Callable[[Event], bool]) -> Event:
        """Reads until an event of one of these types, or one that satisfies a condition."""
        while True:
            event = await self.next()
            for each in wanted:
                if event["type"] == each if isinstance(each, str) else each(event):
                    return event

    async def error(self, code: str) -> Event:
        """Reads until an error, which must have this code."""
        event = await self.until("error")
        assert event["error"]["code"] == code, event["error"]
        assert len(event["error"]["message"]) > 10
        found: Event = event["error"]
        return found

    async def closed(self) -> tuple[int, str]:
        """Reads to the end; code and reason of the close."""
        try:
            while True:
                await self.next()
        except ConnectionClosed as end:
            frame = end.rcvd
            return (frame.code, frame.reason) if frame is not None else (1006, "")

    def of(self, type_: str) -> list[Event]:
        return [event for event in self.events if event["type"] == type_]

    async def open(self, **session: Any) -> Event:
        """``session.update`` first; returns ``session.created``."""
        await self.send("session.update", session=session)
        return await self.until("session.created")

    async def alive(self) -> None:
        """The call still answers."""
        await self.send("session.heartbeat")
        await self.until("session.heartbeat_ack")

    async def ask(self, text: str = "Please say hello.") -> None:
        await self.send(
            "conversation.item.create", item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        )
        await self.send("response.create")

    async def speak(self, samples: np.ndarray[Any, Any], rate: int = 16_000, *, pace: float = 1.0) -> None:
        """Sound in 20 ms pieces; ``pace`` times as fast as it sounds."""
        size = rate // 50
        for at in range(0, len(samples), size):
            await self.send("input_audio_buffer.append", audio=base64.b64encode(pcm(samples[at : at + size])).decode())
            await asyncio.sleep(0.02 / pace)

    async def vanish(self) -> None:
        """The connection is gone, without a word to either side."""
        self.socket.transport.abort()
        await self.socket.wait_closed()

    async def hang_up(self) -> None:
        await self.send("session.close")
        assert await self.closed() == (1000, "client_close")


@contextlib.asynccontextmanager
async def talking(url: str, **options: Any) -> AsyncIterator[Talker]:
    """A socket, closed afterwards without ceremony."""
    options.setdefault("max_size", None)
    options.setdefault("compression", None)
    options.setdefault("close_timeout", 0.5)
    async with connect(url, **options) as socket:
        yield Talker(socket)


async def eventually(true: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if true():
                return
            await asyncio.sleep(0.005)


def voice(seconds: float, rate: int = 16_000) -> np.ndarray[Any, Any]:
    """Something loud enough to count as speech."""
    return np.asarray(0.3 * np.sin(2 * np.pi * 220.0 * np.arange(int(seconds * rate)) / rate), np.float32)


def quiet(seconds: float, rate: int = 16_000) -> np.ndarray[Any, Any]:
    return np.zeros(int(seconds * rate), np.float32)


def pcm(samples: np.ndarray[Any, Any]) -> bytes:
    return bytes((np.clip(samples, -1, 1) * 32767).astype("<i2"))


def sound_of(events: list[Event], response_id: str | None = None) -> bytes:
    """All the sound that these events carry, of one response."""
    deltas = [event for event in events if event["type"] == "response.output_audio.delta"]
    return b"".join(base64.b64decode(event["delta"]) for event in deltas if response_id in (None, event["response_id"]))


def tone_of(data: bytes, rate: int = 24_000) -> float:
    """The strongest frequency, Hz."""
    samples = np.frombuffer(data, "<i2").astype(np.float64)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(np.argmax(spectrum) * rate / samples.size)


class Wire:
    """A TCP proxy in front of a port. ``cut`` resets every connection; while ``down`` none is made."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._streams: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.down = False

    async def __aenter__(self) -> "Wire":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Kills what is connected, as a lost network does: without a word."""
        for stream in list(self._streams):
            stream.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._streams.add(writer)
        try:
            if self.down:
                return
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            self._streams.add(far_writer)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._copy(reader, far_writer))
                    both.create_task(self._copy(far_reader, writer))
            finally:
                self._streams.discard(far_writer)
                far_writer.transport.abort()
        finally:
            self._streams.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
