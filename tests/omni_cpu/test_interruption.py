"""An interruption keeps what the model remembers, unless it is asked not to; listening in the middle of a reply is told from its end."""

from collections.abc import Callable
from typing import Any

from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import Engine, Interrupt
from omnitalk.protocol import server

from .conftest import WriteScript
from .speech import units

Decisions = Callable[[], list[dict[str, Any]]]


async def interrupted(driver: Driver, *, hard: bool) -> server.ResponseDone:
    """A reply that was cut in the middle, and the answer to what was said over it."""
    await units(driver, "SN")
    first = driver.events[await driver.until_type(server.ResponseOutputAudioDelta)]
    assert isinstance(first, server.ResponseOutputAudioDelta)
    mark = len(driver.events)
    await driver.session.submit(Interrupt(response_id=first.response_id, heard_ms=400.0, reason="turn_detected", hard=hard))
    await driver.until_type(server.ResponseDone, after=mark)
    await units(driver, "SN", pace_s=0.5)
    answer = driver.events[await driver.until_type(server.ResponseCreated, after=mark)]
    assert isinstance(answer, server.ResponseCreated)
    end = await driver.until(lambda event: isinstance(event, server.ResponseDone) and event.response_id == answer.response_id, after=mark)
    late = [event for event in driver.all(server.ResponseOutputAudioDelta, after=mark) if event.response_id == first.response_id]
    assert not late
    assert answer.response_id != first.response_id
    done = driver.events[end]
    assert isinstance(done, server.ResponseDone)
    assert done.response["status"] == "completed"
    return done


async def test_a_soft_interruption_keeps_the_request_and_its_memory(engine: Engine, script: WriteScript, decisions: Decisions) -> None:
    script(chunks=6)
    async with opened(engine) as driver:
        await interrupted(driver, hard=False)
        seen = decisions()
    assert len({unit["request"] for unit in seen}) == 1
    assert [unit["seq"] for unit in seen] == list(range(1, len(seen) + 1))
    assert sum(unit["forced"] for unit in seen) >= 1


async def test_a_hard_interruption_starts_afresh(engine: Engine, script: WriteScript, decisions: Decisions) -> None:
    script(chunks=6)
    async with opened(engine) as driver:
        await interrupted(driver, hard=True)
        seen = decisions()
        assert [notice.code for notice in driver.all(server.OmnitalkNotice)] == ["memory_cleared"]
    requests = list(dict.fromkeys(unit["request"] for unit in seen))
    assert len(requests) == 2
    assert [unit["seq"] for unit in seen if unit["request"] == requests[1]][0] == 1


async def test_listening_in_the_middle_of_a_turn_is_suppressed_by_the_engine(engine: Engine, script: WriteScript) -> None:
    script(chunks=4, listen_at=2)
    async with opened(engine) as driver:
        await driver.ask("go on")
        [done] = driver.all(server.ResponseDone)
        assert done.response["status"] == "completed"
        assert sum(len(delta.delta) for delta in driver.all(server.ResponseOutputAudioDelta)) >= 3.5 * 48_000


async def test_a_wish_to_listen_ends_the_response_and_says_so_inside_it(engine: Engine, script: WriteScript) -> None:
    script(chunks=8)
    async with opened(engine) as driver:
        await units(driver, "SN")
        await driver.until_type(server.ResponseOutputAudioDelta)
        mark = len(driver.events)
        await units(driver, "F")
        at = await driver.until_type(server.ResponseListen, after=mark)
        listen = driver.events[at]
        assert isinstance(listen, server.ResponseListen)
        [created] = driver.all(server.ResponseCreated)
        assert listen.response_id == created.response_id
        await driver.until_type(server.ResponseDone, after=at)
        assert sum(len(delta.delta) for delta in driver.all(server.ResponseOutputAudioDelta)) < 7 * 48_000


async def test_listening_after_a_turn_cuts_nothing(engine: Engine, script: WriteScript) -> None:
    script(chunks=2)
    async with opened(engine) as driver:
        await driver.ask("two pieces")
        await units(driver, "NN")
        at = await driver.until_type(server.ResponseListen, after=await driver.until_type(server.ResponseDone))
        listen = driver.events[at]
        assert isinstance(listen, server.ResponseListen)
        assert not isinstance(listen.response_id, str)
        assert [done.response["status"] for done in driver.all(server.ResponseDone)] == ["completed"]


async def test_a_turn_without_a_word_leaves_the_call_alive(engine: Engine, script: WriteScript) -> None:
    script(empty=True)
    async with opened(engine) as driver:
        await units(driver, "SNN")
        await driver.until_type(server.ResponseListen)
        script(chunks=2)
        mark = len(driver.events)
        await units(driver, "SN", pace_s=0.3)
        await driver.until_type(server.ResponseOutputAudioDelta, after=mark)
