"""Calls without sockets: how they open, wait, fail and end, and that nothing of them is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from omnitalk.call.config import CallConfig
from omnitalk.engines.base import EngineError, EngineSession
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine
from omnitalk.hub import CallRunner, Detached, Hub, HubConfig
from omnitalk.protocol import client, server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import OmnitalkQueue
from omnitalk.protocol.session import SessionSettings

QUICK = Script(replies=tuple(Reply(words="one two", seconds=0.4) for _ in range(9)), pace=100.0, first_sound_s=0.0)
LONG = Script(replies=(Reply(words="one two three four five six", seconds=30.0),), pace=30.0, first_sound_s=0.0)
PATIENCE_S = 10.0


@asynccontextmanager
async def hub_of(engine: ScriptedEngine, **config: object) -> AsyncIterator[Hub]:
    await engine.start()
    hub = Hub(engine, HubConfig(**config))  # type: ignore[arg-type]
    yield hub
    await hub.close()
    await engine.stop()
    assert not len(hub) and not engine.sessions


async def until(runner: CallRunner, attachment: object, kind: type[ServerEvent]) -> ServerEvent:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            event = await runner.next_event(attachment)  # type: ignore[arg-type]
            if isinstance(event, kind):
                return event


def ask(runner: CallRunner, attachment: object) -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]}
    runner.receive(attachment, client.ConversationItemCreate(item=item))  # type: ignore[arg-type]
    runner.receive(attachment, client.ResponseCreate())  # type: ignore[arg-type]


async def test_a_call_answers_and_ends_and_its_line_is_free() -> None:
    async with hub_of(ScriptedEngine(script=QUICK, max_sessions=1)) as hub:
        for _ in range(3):
            runner = await hub.open_call(SessionSettings())
            attachment = runner.attach()
            assert hub.find(runner.call.call_id) is runner
            ask(runner, attachment)
            await until(runner, attachment, server.ResponseDone)
            await runner.end("client_close")
            assert hub.find(runner.call.call_id) is None
            with pytest.raises(Detached) as over:
                await until(runner, attachment, server.SessionResumed)
            assert over.value.reason == "session_closed"
        assert hub.ended == {"client_close": 3}
        assert sum(hub.waits.counts) == 3


async def test_a_waiter_who_is_cancelled_leaves_the_line() -> None:
    async with hub_of(ScriptedEngine(max_sessions=1)) as hub:
        runner = await hub.open_call(SessionSettings())
        places: asyncio.Queue[OmnitalkQueue] = asyncio.Queue()
        waiters = [asyncio.create_task(hub.open_call(SessionSettings(), on_queue=places.put)) for _ in range(2)]
        assert [(await places.get()).position, (await places.get()).position] == [1, 2]
        waiters[0].cancel()
        await asyncio.gather(waiters[0], return_exceptions=True)
        assert hub.admission.waiting == 1
        await runner.end("client_close")
        async with asyncio.timeout(PATIENCE_S):
            second = await waiters[1]
        await second.end("client_close")
        assert hub.admission.active == 0


async def test_settings_that_the_engine_refuses_cost_no_line() -> None:
    async with hub_of(ScriptedEngine("minicpm", max_sessions=1)) as hub:
        for _ in range(2):
            with pytest.raises(EngineError) as refused:
                await hub.open_call(SessionSettings())
            assert refused.value.code == "ref_audio_required"
        assert hub.admission.active == 0
        runner = await hub.open_call(SessionSettings(ref_audio="data:audio/wav;base64,"))
        await runner.end("client_close")


async def test_an_engine_that_breaks_in_the_middle_ends_the_call_with_a_reason() -> None:
    engine = ScriptedEngine(script=LONG)
    async with hub_of(engine) as hub:
        runner = await hub.open_call(SessionSettings())
        attachment = runner.attach()
        ask(runner, attachment)
        await until(runner, attachment, server.ResponseOutputAudioDelta)
        engine.sessions[runner.call.call_id].fail("engine_error", "Out of memory.")
        closed = await until(runner, attachment, server.SessionClosed)
        assert isinstance(closed, server.SessionClosed)
        assert (closed.reason, closed.message) == ("engine_error", "Out of memory.")
        await runner.wait_ended()


class _Broken:
    """An engine session with a bug in every method."""

    settings = SessionSettings()

    async def submit(self, command: object) -> None:
        raise ZeroDivisionError("a bug")

    async def events(self) -> AsyncIterator[ServerEvent]:
        await asyncio.Event().wait()
        yield server.SessionHeartbeatAck()

    async def close(self, reason: str) -> None:
        raise ZeroDivisionError("another bug")


class _BrokenEngine(ScriptedEngine):
    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        return _Broken()


class _ShutEngine(ScriptedEngine):
    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        raise ZeroDivisionError("a bug")


async def test_a_bug_while_opening_is_an_internal_error_and_costs_no_line() -> None:
    async with hub_of(_ShutEngine(max_sessions=1)) as hub:
        for _ in range(2):
            with pytest.raises(EngineError) as refused:
                await hub.open_call(SessionSettings())
            assert refused.value.code == "internal_error"
        assert hub.admission.active == 0


async def test_a_server_that_stops_while_a_call_opens_leaves_nothing() -> None:
    opening, go = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedEngine):
        async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
            opening.set()
            await go.wait()
            return await super().open_session(session_id, settings)

    async with hub_of(Slow()) as hub:
        call = asyncio.create_task(hub.open_call(SessionSettings()))
        await opening.wait()
        await hub.close()
        go.set()
        with pytest.raises(ProtocolError) as refused:
            await call
        assert refused.value.code == "server_draining"


async def test_a_bug_in_an_engine_ends_its_call_only_and_frees_the_line() -> None:
    async with hub_of(_BrokenEngine(max_sessions=1)) as hub:
        runner = await hub.open_call(SessionSettings())
        attachment = runner.attach()
        runner.receive(attachment, client.InputAudioBufferClear())
        closed = await until(runner, attachment, server.SessionClosed)
        assert isinstance(closed, server.SessionClosed) and closed.reason == "internal_error"
        await runner.wait_ended()
        assert hub.admission.active == 0


async def test_an_interruption_is_counted_by_its_source() -> None:
    async with hub_of(ScriptedEngine(script=LONG)) as hub:
        runner = await hub.open_call(SessionSettings())
        attachment = runner.attach()
        ask(runner, attachment)
        await until(runner, attachment, server.ResponseOutputAudioDelta)
        runner.receive(attachment, client.OmnitalkInterrupt())
        done = await until(runner, attachment, server.ResponseDone)
        assert isinstance(done, server.ResponseDone) and done.response["status"] == "cancelled"
        assert hub.figures()["interruptions_barge_in"] == 1


async def test_closing_the_hub_ends_calls_and_turns_the_waiting_away() -> None:
    engine = ScriptedEngine(max_sessions=1)
    async with hub_of(engine) as hub:
        runner = await hub.open_call(SessionSettings())
        attachment = runner.attach()
        places: asyncio.Queue[OmnitalkQueue] = asyncio.Queue()
        waiter = asyncio.create_task(hub.open_call(SessionSettings(), on_queue=places.put))
        await places.get()
        await hub.close()
        with pytest.raises(ProtocolError) as turned_away:
            await waiter
        assert turned_away.value.code == "server_draining"
        closed = await until(runner, attachment, server.SessionClosed)
        assert isinstance(closed, server.SessionClosed) and closed.reason == "server_shutdown"
        with pytest.raises(ProtocolError):
            await hub.open_call(SessionSettings())


async def test_a_call_that_nobody_takes_up_ends_by_itself() -> None:
    async with hub_of(ScriptedEngine(), call=CallConfig(grace_s=0.01)) as hub:
        runner = await hub.open_call(SessionSettings())
        async with asyncio.timeout(PATIENCE_S):
            await runner.wait_ended()
        assert hub.ended == {"disconnect_grace_expired": 1}
