"""Calls over a server that speaks vLLM-Omni's wire: here another Omnitalk with the scripted MiniCPM-o, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from omnitalk.api.app import create_app
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import EngineError, EngineFailed, Interrupt
from omnitalk.engines.factory import make_engine
from omnitalk.engines.remote import RemoteEngine, RemoteOptions
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings, TurnDetection
from omnitalk.server import listen, make_server
from omnitalk.settings import ServeSettings


@dataclass
class Backend:
    origin: str
    engine: ScriptedEngine


@asynccontextmanager
async def backend(max_calls: int = 4, mode: Literal["minicpm", "qwen3"] = "minicpm") -> AsyncIterator[Backend]:
    settings = ServeSettings(engine="scripted", scripted_mode=mode, max_calls=max_calls, queue_length=0)
    engine = make_engine(settings)
    assert isinstance(engine, ScriptedEngine)
    listener = listen("127.0.0.1", 0)
    running = make_server(settings, create_app(settings, engine))
    serving = asyncio.create_task(running.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(10):
            while not (running.started and engine.health().ready):  # noqa: ASYNC110 - uvicorn says it by a flag
                await asyncio.sleep(0.01)
        yield Backend(f"ws://127.0.0.1:{listener.getsockname()[1]}", engine)
    finally:
        running.should_exit = True
        await serving
        listener.close()


@asynccontextmanager
async def remote(*origins: str, profile: str | None = None) -> AsyncIterator[RemoteEngine]:
    engine = RemoteEngine(RemoteOptions(backends=origins, profile=profile))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def test_a_call_is_answered_and_leaves_nothing() -> None:
    async with backend() as server_a, remote(server_a.origin) as engine:
        assert engine.health().ready
        async with opened(engine) as driver:
            await driver.ask("hello")
            done = driver.all(server.ResponseDone)[0]
            assert done.response["status"] == "completed"
            assert driver.all(server.ResponseOutputAudioDelta)
            assert len(server_a.engine.sessions) == 1
        async with asyncio.timeout(5):
            while server_a.engine.sessions:  # noqa: ASYNC110 - the other server closes in its own time
                await asyncio.sleep(0.01)


async def test_an_interruption_ends_the_reply_and_the_next_turn_is_whole() -> None:
    async with backend() as server_a, remote(server_a.origin) as engine, opened(engine) as driver:
        await driver.begin("a long story")
        first = driver.events[await driver.until_type(server.ResponseOutputAudioDelta)]
        assert isinstance(first, server.ResponseOutputAudioDelta)
        mark = len(driver.events)
        await driver.session.submit(Interrupt(response_id=first.response_id, heard_ms=100.0, reason="turn_detected"))
        await driver.until_type(server.ResponseDone, after=mark)
        await driver.begin("and now")
        await driver.begin("and now")
        created = await driver.until_type(server.ResponseCreated, after=mark)
        await driver.until_type(server.ResponseDone, after=created)
        late = [event for event in driver.all(server.ResponseOutputAudioDelta, after=mark) if event.response_id == first.response_id]
        assert not late


async def test_calls_go_to_the_least_busy_server() -> None:
    async with backend() as one, backend() as two, remote(one.origin, two.origin) as engine:
        sessions = [await engine.open_session(f"call_{number}", SessionSettings()) for number in range(4)]
        assert (len(one.engine.sessions), len(two.engine.sessions)) == (2, 2)
        for session in sessions:
            await session.close("test_over")


async def test_a_full_server_passes_its_caller_on() -> None:
    async with backend(max_calls=1) as small, backend() as large, remote(small.origin, large.origin) as engine:
        sessions = [await engine.open_session(f"call_{number}", SessionSettings()) for number in range(4)]
        assert (len(small.engine.sessions), len(large.engine.sessions)) == (1, 3)
        for session in sessions:
            await session.close("test_over")


async def test_a_dead_server_is_passed_over_and_no_server_is_said() -> None:
    async with backend() as alive, remote("ws://127.0.0.1:9", alive.origin) as engine:
        assert engine.health().ready
        assert engine.health().details["ws://127.0.0.1:9"]["alive"] is False
        async with opened(engine) as driver:
            await driver.ask("hello")
    lonely = RemoteEngine(RemoteOptions(backends=("ws://127.0.0.1:9",)))
    with pytest.raises(EngineError) as refused:
        await lonely.start()
    assert refused.value.code == "backend_unavailable" and refused.value.retryable
    assert "127.0.0.1:9" in (lonely.health().problem or "")
    await lonely.stop()


async def test_a_lost_connection_comes_back_to_the_same_session() -> None:
    async with backend() as server_a, remote(server_a.origin) as engine, opened(engine) as driver:
        await driver.ask("hello")
        before = list(server_a.engine.sessions)
        driver.session._handle._socket.transport.abort()  # type: ignore[attr-defined]
        mark = len(driver.events)
        await driver.begin("are you still there")
        await driver.begin("are you still there")
        await driver.until_type(server.ResponseDone, after=mark)
        assert list(server_a.engine.sessions) == before
        assert not driver.all(EngineFailed)


async def test_a_server_that_is_gone_for_good_ends_the_call_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnitalk.engines.remote.handle._DELAYS_S", (0.01, 0.01))
    async with remote_on_a_dying_server() as driver:
        await driver.until_type(EngineFailed)
        assert driver.all(EngineFailed)[0].code in ("backend_lost", "server_shutdown", "engine_error")


@asynccontextmanager
async def remote_on_a_dying_server() -> AsyncIterator[Driver]:
    async with backend() as server_a:
        engine = RemoteEngine(RemoteOptions(backends=(server_a.origin,)))
        await engine.start()
        driver = Driver(await engine.open_session("call_a", SessionSettings()), typed=False)
    yield driver
    await driver.close()
    await engine.stop()


@pytest.mark.parametrize("origin", ["http://host:1", "ws://", "host:8099", "ws://host/?x=1"])
def test_what_is_no_origin_is_refused_by_name(origin: str) -> None:
    with pytest.raises(EngineError, match="ws-backend"):
        RemoteEngine(RemoteOptions(backends=(origin,)))


def test_the_remote_engine_needs_a_backend() -> None:
    with pytest.raises(EngineError, match="--ws-backend"):
        make_engine(ServeSettings(engine="remote"))


LOUD = (0.2 * np.sin(np.arange(16_000) * 0.3)).astype(np.float32)


async def test_a_turn_model_is_driven_by_hand() -> None:
    async with backend(mode="qwen3") as server_a, remote(server_a.origin, profile="qwen3") as engine, opened(engine) as driver:
        assert engine.capabilities.profile == "qwen3"
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.InputAudioBufferCommit())
        assert refused.value.code == "input_audio_buffer_empty"
        await driver.hear(LOUD)
        await driver.session.submit(client.InputAudioBufferCommit())
        await driver.until_type(server.InputAudioBufferCommitted)
        await driver.session.submit(client.ResponseCreate())
        await driver.until_type(server.ResponseDone)
        assert driver.all(server.ResponseDone)[0].response["status"] == "completed"


async def test_a_turn_model_answers_when_the_person_pauses_and_stops_when_talked_over(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tone is no speech to the voice-activity model; loudness, its stand-in, takes it for some.
    monkeypatch.setattr("omnitalk.engines.omni.engine.near_end_model", lambda: None)
    spoken = SessionSettings(turn_detection=TurnDetection(silence_duration_ms=320))
    async with backend(mode="qwen3") as server_a, remote(server_a.origin, profile="qwen3") as engine, opened(engine, spoken) as driver:
        await driver.hear(LOUD)
        await driver.silence(1.0)
        first = driver.events[await driver.until_type(server.ResponseOutputAudioDelta)]
        assert isinstance(first, server.ResponseOutputAudioDelta)
        mark = len(driver.events)
        await driver.session.submit(Interrupt(response_id=first.response_id, heard_ms=50.0, reason="turn_detected"))
        done = driver.events[await driver.until_type(server.ResponseDone, after=mark)]
        assert isinstance(done, server.ResponseDone)
        assert done.response["status"] == "cancelled"
        await driver.hear(LOUD)
        await driver.silence(1.0)
        created = await driver.until_type(server.ResponseCreated, after=mark)
        await driver.until_type(server.ResponseDone, after=created)


async def test_a_turn_model_takes_typed_text() -> None:
    async with backend(mode="qwen3") as server_a, remote(server_a.origin, profile="qwen3") as engine, opened(engine) as driver:
        await driver.ask("What is this?")
        assert driver.all(server.ResponseDone)[0].response["status"] == "completed"
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.InputAudioBufferAppend(audio=bytes(3_200), video_frames=[b"x"]))
        assert refused.value.code == "invalid_video_frames"
