"""Commands wait in order and bounded; of sound the oldest is given up, and counted."""

import asyncio

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.omni.lane import CommandLane


async def test_order_is_kept() -> None:
    lane = CommandLane()
    lane.put_sound("sound", 100.0)
    lane.put("commit")
    assert [await lane.get(), await lane.get()] == ["sound", "commit"]


async def test_the_oldest_sound_goes_when_five_seconds_wait() -> None:
    lane = CommandLane()
    lane.put("first")
    for number in range(60):
        lane.put_sound(number, 100.0)
    assert lane.dropped_ms == 1_000.0
    assert await lane.get() == "first"
    assert await lane.get() == 10


async def test_events_are_refused_not_lost() -> None:
    lane = CommandLane()
    with pytest.raises(EngineError) as refused:
        for number in range(1_000):
            lane.put(number)
    assert refused.value.code == "input_backpressure"
    assert len(lane) == 512


async def test_a_taker_waits_for_the_next() -> None:
    lane = CommandLane()
    taking = asyncio.create_task(lane.get())
    await asyncio.sleep(0)
    lane.put("late")
    assert await taking == "late"


async def test_cancelled_sound_is_forgotten() -> None:
    lane = CommandLane()
    lane.put_sound("old", 100.0)
    lane.put("clear")
    lane.forget_sound()
    assert await lane.get() == "clear"
    assert len(lane) == 0
