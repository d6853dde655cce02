"""A session's outgoing events are bounded in every direction."""

import asyncio

from omnitalk.engines.base import EngineEvent, EngineFailed, NearEnd
from omnitalk.engines.cascade.outbox import Outbox
from omnitalk.protocol import server


def frame(at_ms: float) -> NearEnd:
    """One verdict."""
    return NearEnd(probability=0.0, level_dbfs=-90.0, at_ms=at_ms)


def delta(response_id: str) -> server.ResponseOutputAudioDelta:
    """One piece of sound."""
    return server.ResponseOutputAudioDelta(response_id=response_id, item_id="item_1", delta=b"")


async def everything(outbox: Outbox) -> list[EngineEvent]:
    """What a reader gets until the end."""
    return [event async for event in outbox.events()]


async def test_nobody_reads_frames_for_an_hour() -> None:
    outbox = Outbox()
    for index in range(112_500):
        outbox.emit(frame(index * 32.0))
    assert len(outbox) == 64
    assert outbox.dropped_frames == 112_500 - 64
    outbox.close()
    assert [event.at_ms for event in await everything(outbox) if isinstance(event, NearEnd)][-1] == 112_499 * 32.0


async def test_a_reply_waits_for_a_slow_reader_and_goes_on_when_it_reads() -> None:
    outbox = Outbox()
    for _ in range(300):
        outbox.emit(delta("a"))
    waiting = asyncio.ensure_future(outbox.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    reader = outbox.events()
    for _ in range(100):
        await anext(reader)
    await asyncio.sleep(0)
    assert waiting.done()


async def test_a_cut_takes_back_sound_that_nobody_has_read() -> None:
    outbox = Outbox()
    for event in (delta("a"), server.ResponseOutputAudioDone(response_id="a", item_id="item_1"), delta("b")):
        outbox.emit(event)
    outbox.drop_deltas("a")
    outbox.close()
    assert [(event.type, event.response_id) for event in await everything(outbox) if isinstance(event, server.ResponseScoped)] == [
        ("response.output_audio.done", "a"),
        ("response.output_audio.delta", "b"),
    ]


async def test_a_reader_that_is_gone_ends_the_session() -> None:
    outbox = Outbox()
    for _ in range(5_000):
        outbox.emit(server.RateLimitsUpdated())
    [event] = await everything(outbox)
    assert isinstance(event, EngineFailed)
    assert event.code == "engine_backpressure"


async def test_events_after_close_are_forgotten() -> None:
    outbox = Outbox()
    outbox.emit(server.RateLimitsUpdated())
    outbox.close()
    outbox.emit(server.RateLimitsUpdated())
    assert len(await everything(outbox)) == 1
