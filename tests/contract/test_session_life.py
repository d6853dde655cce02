"""Sessions: opened within the capacity, closed without leaving anything behind."""

import asyncio
import threading

import pytest
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import Engine, EngineError, EngineSession
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionPatch, SessionSettings, TurnDetection


async def test_it_is_an_engine_and_its_sessions_are_sessions(engine: Engine) -> None:
    assert isinstance(engine, Engine)
    assert engine.health().ready
    assert engine.capabilities.name
    async with opened(engine) as driver:
        assert isinstance(driver.session, EngineSession)


async def test_events_end_after_close_and_nothing_stays(engine: Engine) -> None:
    tasks, threads = asyncio.all_tasks(), threading.active_count()
    driver = Driver(await engine.open_session("call_a", SessionSettings()), typed=engine.capabilities.text_input)
    await driver.begin("Tell me a long story about a brave little ship.")
    await driver.until_type(server.ResponseCreated)
    await driver.close()
    await driver.session.close("again")
    await driver.settle()
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() <= threads


async def test_a_closed_session_refuses_commands(engine: Engine) -> None:
    session = await engine.open_session("call_a", SessionSettings())
    await session.close("test_over")
    with pytest.raises(EngineError) as refused:
        await session.submit(client.InputAudioBufferClear())
    assert refused.value.code == "session_closed"


async def test_capacity_is_kept_and_comes_back(engine: Engine) -> None:
    most = engine.capabilities.max_sessions
    if most > 16:
        pytest.skip("this engine has no small bound")
    sessions = [await engine.open_session(f"call_{index}", SessionSettings()) for index in range(most)]
    with pytest.raises(EngineError) as refused:
        await engine.open_session("call_more", SessionSettings())
    assert refused.value.code == "resource_exhausted"
    assert refused.value.retryable
    for session in sessions:
        await session.close("test_over")
    async with opened(engine):
        pass


async def test_settings_in_force_follow_updates(engine: Engine) -> None:
    async with opened(engine, SessionSettings(instructions="Be kind.")) as driver:
        assert driver.session.settings.instructions == "Be kind."
        await driver.session.submit(client.SessionUpdate(session=SessionPatch(temperature=0.5)))
        assert driver.session.settings.temperature == 0.5
        assert driver.session.settings.instructions == "Be kind."


async def test_initial_user_text_is_answered(engine: Engine) -> None:
    async with opened(engine, SessionSettings(initial_user_text="Please say hello.")) as driver:
        if not engine.capabilities.text_input:
            await driver.silence(4.0)
        await driver.until_type(server.RateLimitsUpdated)
        assert driver.all(server.ResponseDone)[0].response["status"] == "completed"


async def test_a_flood_of_sound_is_taken_without_waiting(engine: Engine) -> None:
    async with opened(engine, SessionSettings(turn_detection=TurnDetection())) as driver:
        event = client.InputAudioBufferAppend(audio=bytes(32_000))
        for _ in range(90):
            taking = driver.session.submit(event)
            # A coroutine that ends without handing control over has waited for nothing.
            with pytest.raises(StopIteration):
                taking.send(None)
