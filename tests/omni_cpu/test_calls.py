"""Several calls on one engine: nothing of one is heard in another, no seat is lost, and trouble in one stays there."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from omnitalk.bench.driver import opened
from omnitalk.engines.base import Engine, EngineError, EngineSession, PlaybackProgress
from omnitalk.engines.omni import OmniEngine
from omnitalk.protocol import server
from omnitalk.protocol.session import SessionSettings

from .conftest import WriteScript
from .speech import units


async def test_two_calls_do_not_hear_each_other(engine: Engine, decisions: Callable[[], list[dict[str, Any]]]) -> None:
    async with opened(engine, name="call_a") as talker, opened(engine, name="call_b") as listener:
        await asyncio.gather(units(talker, "SNNNN", pace_s=0.6), units(listener, "NNNNN", pace_s=0.6))
        await talker.until_type(server.ResponseDone)
        await listener.until(lambda _: len(listener.all(server.ResponseListen)) >= 4)
        assert not listener.all(server.ResponseCreated)
        assert talker.all(server.ResponseOutputAudioDelta)
        assert len({unit["session"] for unit in decisions()}) == 2


async def test_two_replies_at_once_are_both_whole(engine: Engine, script: WriteScript) -> None:
    script(chunks=3)
    async with opened(engine, name="call_a") as first, opened(engine, name="call_b") as second:
        await asyncio.gather(first.ask("one"), second.ask("two"))
        for driver in (first, second):
            assert driver.all(server.ResponseDone)[0].response["status"] == "completed"
            assert sum(len(delta.delta) for delta in driver.all(server.ResponseOutputAudioDelta)) >= 2.5 * 48_000


async def test_acknowledged_and_late_acknowledged_playback_is_harmless(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.ask("hello")
        done = driver.all(server.ResponseDone)[0]
        item = done.response["output"][0]["id"]

        def heard(milliseconds: float) -> PlaybackProgress:
            return PlaybackProgress(
                response_id=done.response_id, item_id=item, played_ms=milliseconds, committed_ms=milliseconds, sounding=True
            )

        await driver.session.submit(heard(500.0))
        await driver.ask("and again")
        # The person has spoken since: the engine calls this one too late.
        await driver.session.submit(heard(2_000.0))
        await units(driver, "NN")
        await driver.settle()
        assert not driver.all(server.Error)


async def test_an_overfull_context_in_a_long_reply_is_renewed_and_nobody_else_notices(engine: Engine, script: WriteScript) -> None:
    script(chunks=60)
    endless = SessionSettings(extra={"sliding_window_mode": "off"})
    async with opened(engine, name="call_calm") as calm, opened(engine, endless, name="call_full") as full:
        await units(full, "SN", pace_s=0.3)
        await full.until_type(server.ResponseOutputAudioDelta)
        for _ in range(40):
            if any(notice.code == "context_renewed" for notice in full.all(server.OmnitalkNotice)):
                break
            await units(full, "N", frames=1, stacked=True, pace_s=0.15)
        codes = [notice.code for notice in full.all(server.OmnitalkNotice)]
        assert codes == ["context_filling", "context_filling", "context_renewed"]
        [done] = full.all(server.ResponseDone)
        assert done.response["status"] == "incomplete"
        assert done.response["status_details"]["reason"] == "context_length_exceeded"
        script(chunks=2)
        await calm.ask("still there?")
        assert calm.all(server.ResponseDone)[0].response["status"] == "completed"


async def test_a_full_context_is_renewed_at_a_turn_boundary(engine: Engine) -> None:
    endless = SessionSettings(extra={"sliding_window_mode": "off"})
    async with opened(engine, endless) as driver:
        await driver.ask("something to remember")
        for _ in range(40):
            if any(notice.code == "context_renewed" for notice in driver.all(server.OmnitalkNotice)):
                break
            await units(driver, "N", frames=1, stacked=True, pace_s=0.15)
        assert any(notice.code == "context_renewed" for notice in driver.all(server.OmnitalkNotice))
        gauge = driver.all(server.OmnitalkContext)[-1]
        mark = len(driver.events)
        await units(driver, "SNNNNNN", pace_s=0.5)
        await driver.until_type(server.ResponseDone, after=mark)
        assert gauge.used_tokens < gauge.max_tokens


async def test_the_gauge_agrees_with_the_engines_own_count(engine: Engine) -> None:
    async with opened(engine) as driver:
        await units(driver, "NNNNNSN", frames=1, pace_s=0.25)
        await driver.until_type(server.ResponseDone)
        await units(driver, "NNNNNN", pace_s=0.1)
        await driver.settle()
        last = driver.all(server.OmnitalkContext)[-1]
        # ``other`` is what the engine counted beside the estimate.
        assert abs(last.by_kind["other"]) < 0.1 * last.used_tokens
        assert last.by_kind["pictures"] == 7 * 66


@pytest.mark.parametrize("stacked", [False, True])
async def test_one_group_of_pictures_a_unit_and_the_newest(
    engine: Engine, decisions: Callable[[], list[dict[str, Any]]], stacked: bool
) -> None:
    async with opened(engine) as driver:
        await units(driver, "NNN", frames=5, stacked=stacked, pace_s=0.2)
        await driver.until(lambda _: len(driver.all(server.ResponseListen)) >= 3)
        # The unit that was under way when the test before closed its call may be written down late.
        seen = decisions()
        assert [unit["frames"] for unit in seen if unit["session"] == seen[-1]["session"]] == [2 if stacked else 1] * 3
        # Four of five pictures a unit were replaced by a newer one, and that is counted.
        assert engine.health().details["frames_replaced"] >= 12
        assert not driver.all(server.Error)


async def test_calls_opened_and_closed_in_any_order_leave_every_seat_free(omni: OmniEngine) -> None:
    order = random.Random(7)
    open_sessions: list[EngineSession] = []
    refused = 0
    for number in range(200):
        if open_sessions and order.random() < 0.5:
            session = open_sessions.pop(order.randrange(len(open_sessions)))
            closing = asyncio.create_task(session.close("test"))
            if order.random() < 0.3:
                await session.close("again")
            await closing
        try:
            opening = asyncio.create_task(omni.open_session(f"call_{number}", SessionSettings()))
            if order.random() < 0.2:
                await asyncio.sleep(order.random() * 0.02)
                opening.cancel()
            open_sessions.append(await opening)
        except asyncio.CancelledError:
            pass
        except EngineError as problem:
            assert problem.code == "resource_exhausted"
            refused += 1
    for session in open_sessions:
        await session.close("test")
    assert refused
    assert not omni.sessions
    seats = [await omni.open_session(f"seat_{number}", SessionSettings()) for number in range(omni.capabilities.max_sessions)]
    for session in seats:
        await session.close("test")
