"""What our server adds to the engine: from a unit's last sample to the first sound of the reply, three ways, in one run.

*Handle*: vLLM-Omni's own session handle in our process, nothing between. *Ours*: the same engine behind our WebSocket, in another
process's place a client on loopback. *vllm-omni serve*: its own server with the same model and deploy file. The engine is the same
code each time, so the differences are the servers'. Replies are interleaved between handle and ours, which share an engine; the
other server has one of its own and runs alone, after ours has stopped. It draws its tokens as it always does; ours and the handle use
the faster draw of ``omnitalk.engines.omni.sampler``, which is part of what we ship.
"""

import asyncio
import base64
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .machine import describe

__all__ = ["main"]

_PATIENCE_S = 300.0


@dataclass
class Way:
    """One way to the engine and its figures, ms."""

    name: str
    first: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)


def _sound(seed: int, *, speech: bool) -> bytes:
    return np.random.default_rng(seed).normal(0, 3_000 if speech else 10, 1_600).astype("<i2").tobytes()


def _append(sound: bytes, *, speech: bool) -> str:
    audio = base64.b64encode(sound).decode()
    event = {"type": "input_audio_buffer.append", "audio": audio, "format": "pcm16", "sample_rate_hz": 16_000, "is_speech": speech}
    return json.dumps(event)


class _Socket:
    """A call over a WebSocket, ours or theirs: both speak the same events."""

    def __init__(self, url: str, voice: str) -> None:
        self._url, self._voice = url, voice
        self._first = asyncio.Event()
        self._over = asyncio.Event()
        self.at = 0.0

    async def __aenter__(self) -> "_Socket":
        import websockets

        self._socket = await websockets.connect(self._url, max_size=None, compression=None)
        session = {
            "modalities": ["audio", "text"],
            "ref_audio": self._voice,
            "overlap_policy": "listen_only",
            "playback_commit_policy": "ack_only",
            "extra_body": {"auto_response": True, "force_listen_count": 0},
        }
        await self._socket.send(json.dumps({"type": "session.update", "session": session}))
        while json.loads(await self._socket.recv())["type"] != "session.updated":
            pass
        self._reader = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        async for message in self._socket:
            kind = json.loads(message)["type"]
            if kind == "response.output_audio.delta" and not self._first.is_set():
                self.at = time.perf_counter()
                self._first.set()
            elif kind == "response.done":
                self._over.set()

    async def send(self, sound: bytes, *, speech: bool) -> None:
        await self._socket.send(_append(sound, speech=speech))

    async def reply(self, asked: float) -> float:
        async with asyncio.timeout(_PATIENCE_S):
            await self._first.wait()
            milliseconds = (self.at - asked) * 1000
            await self._over.wait()
        self._first.clear()
        self._over.clear()
        return milliseconds

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        await self._socket.close()


class _Handle(_Socket):
    """A call on the bare handle."""

    def __init__(self, omni: Any, voice: str) -> None:
        super().__init__("", voice)
        self._omni = omni

    async def __aenter__(self) -> "_Handle":
        from omnitalk.engines.omni.wire import native_session
        from omnitalk.protocol.session import SessionSettings

        self._session = await self._omni.open_session(native_session(SessionSettings(), self._voice, limit=8_192), timeout=60)
        self._reader = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        async for event in self._session.events():
            if event.type == "response.output_audio.delta" and not self._first.is_set():
                self.at = time.perf_counter()
                self._first.set()
            elif event.type == "response.done":
                self._over.set()

    async def send(self, sound: bytes, *, speech: bool) -> None:
        await self._session.append_audio(sound, format="pcm16", sample_rate_hz=16_000, is_speech=speech)

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        self._reader.cancel()


def _delivery_times(omni: Any, bare: _Handle) -> list[float]:
    """When vLLM-Omni hands a first sound to the session behind our socket; filled as it happens, on the clock of the client."""
    times: list[float] = []
    [handle] = [handle for handle in omni.sessions.values() if handle is not bare._session]
    own = handle._deliver

    def deliver(event: Any) -> None:
        if event.type == "response.output_audio.delta":
            times.append(time.perf_counter())
        own(event)

    handle._deliver = deliver
    return times


async def _ask(call: _Socket, seed: int) -> float:
    """A second of speech and one of quiet at real-time pace; ms from the quiet unit's last sample to the first sound."""
    begin = time.perf_counter()
    for piece in range(20):
        wait = begin + (piece + 1) / 10 - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        await call.send(_sound(seed + piece, speech=piece < 10), speech=piece < 10)
    return await call.reply(time.perf_counter())


async def _through_ours(model: str, deploy: str, replies: int, ways: list[Way]) -> None:
    import uvicorn

    from omnitalk.api.app import create_app
    from omnitalk.engines.omni import OmniEngine, OmniOptions
    from omnitalk.engines.omni.voice import built_in
    from omnitalk.server import listen, make_server
    from omnitalk.settings import ServeSettings

    engine = OmniEngine(OmniOptions(model=model, deploy_config=deploy))
    settings = ServeSettings(engine="omni", model=model)
    listener = listen("127.0.0.1", 0)
    server: uvicorn.Server = make_server(settings, create_app(settings, engine))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not engine.health().ready:  # noqa: ASYNC110 - health is looked at, it does not call back
                await asyncio.sleep(0.2)
        url = f"ws://127.0.0.1:{listener.getsockname()[1]}/v1/realtime?duplex=1&autostart=0"
        voice = built_in().url
        async with _Handle(engine._omni, voice) as bare, _Socket(url, voice) as ours:
            delivered = _delivery_times(engine._omni, bare)
            for number in range(replies + 1):
                # The first of each warms up; the order alternates so that neither always follows the other.
                for way, call in ((ways[0], bare), (ways[1], ours)) if number % 2 else ((ways[1], ours), (ways[0], bare)):
                    delivered.clear()
                    milliseconds = await _ask(call, number * 100)
                    if number:
                        way.first.append(milliseconds)
                        if call is ours:
                            way.added.append((ours.at - delivered[0]) * 1000)
    finally:
        server.should_exit = True
        await serving
        listener.close()


async def _through_theirs(model: str, deploy: str, replies: int, way: Way, log: Path) -> None:
    from omnitalk.engines.omni.voice import built_in
    from omnitalk.server import listen

    with contextlib.closing(listen("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = str(Path(sys.executable).parent / "vllm-omni")
    command = [
        program,
        "serve",
        model,
        "--omni",
        "--trust-remote-code",
        "--deploy-config",
        deploy,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    # Their server, their draw: the plugin of ours that speeds it up stays out.
    environment = {**os.environ, "OMNITALK_FAST_SAMPLER": "0", "OMNITALK_STAGES": ""}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=asyncio.subprocess.STDOUT, env=environment)
    try:
        await _until_healthy(f"http://127.0.0.1:{port}/health", process)
        async with _Socket(f"ws://127.0.0.1:{port}/v1/realtime?duplex=1", built_in().url) as call:
            for number in range(replies + 1):
                milliseconds = await _ask(call, number * 100)
                if number:
                    way.first.append(milliseconds)
    finally:
        process.terminate()
        try:
            async with asyncio.timeout(60):
                await process.wait()
        except TimeoutError:
            process.kill()


async def _until_healthy(url: str, process: asyncio.subprocess.Process) -> None:
    import httpx

    async with asyncio.timeout(_PATIENCE_S), httpx.AsyncClient(timeout=2) as client:
        while True:
            if process.returncode is not None:
                raise RuntimeError(f"vllm-omni serve ended with code {process.returncode}")
            with contextlib.suppress(httpx.HTTPError):
                if (await client.get(url)).status_code == 200:
                    return
            await asyncio.sleep(0.5)


def _at(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def main(model: str, deploy: str, *, replies: int, output: Path | None, log: Path, say: Callable[[str], None] = print) -> None:
    """Measure and print; the figures are only comparable within one run."""
    ways = [Way("the bare handle, in process"), Way("ours, WebSocket on loopback"), Way("vllm-omni serve, WebSocket on loopback")]
    asyncio.run(_through_ours(model, deploy, replies, ways))
    asyncio.run(_through_theirs(model, deploy, replies, ways[2], log))
    base = statistics.median(ways[0].first)
    lines = [
        f"{describe()}; {replies} replies each",
        "",
        "| way | first sound, median (ms) | p95 (ms) | against the bare handle (median) |",
        "|---|---|---|---|",
    ]
    for way in ways:
        median = statistics.median(way.first)
        lines.append(f"| {way.name} | {median:.1f} | {_at(way.first, 0.95):.1f} | {median - base:+.1f} ms, x{median / base:.2f} |")
    added = ways[1].added
    lines += [
        "",
        f"From the engine's own delivery to our client's socket: median {statistics.median(added):.2f} ms, p95 {_at(added, 0.95):.2f} ms.",
    ]
    text = "\n".join(lines)
    say(text)
    if output is not None:
        output.write_text(text + "\n")
