"""An interrupted response ends at once, once, and is remembered as far as it was heard."""

import pytest
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import Engine, EngineError, Interrupt
from omnitalk.protocol import client, server

LONG = "Tell me a long story about a brave little ship. Use many sentences."


async def sounding(driver: Driver) -> server.ResponseOutputAudioDelta:
    """A response of which the first sound is there and the end is not."""
    await driver.begin(LONG)
    index = await driver.until_type(server.ResponseOutputAudioDelta)
    delta = driver.events[index]
    assert isinstance(delta, server.ResponseOutputAudioDelta)
    return delta


async def test_nothing_is_said_after_an_interrupt(engine: Engine) -> None:
    async with opened(engine) as driver:
        delta = await sounding(driver)
        mark = len(driver.events)
        await driver.session.submit(Interrupt(response_id=delta.response_id, heard_ms=50.0, reason="turn_detected"))
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        await driver.ask("Please say hello.")
        after = driver.events[mark:]
        late = [event for event in after if isinstance(event, server.ResponseOutputAudioDelta) and event.response_id == delta.response_id]
        assert not late
        ends = [event for event in driver.all(server.ResponseDone) if event.response_id == delta.response_id]
        assert len(ends) == 1
        assert ends[0].response["status"] == "cancelled"
        assert ends[0].response["status_details"]["reason"] == "turn_detected"


async def test_the_item_is_cut_to_what_was_heard(engine: Engine) -> None:
    async with opened(engine) as driver:
        delta = await sounding(driver)
        before = "".join(event.delta for event in driver.all(server.ResponseOutputAudioTranscriptDelta))
        mark = len(driver.events)
        await driver.session.submit(Interrupt(response_id=delta.response_id, heard_ms=0.0, reason="client_cancelled"))
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        await driver.session.submit(client.ConversationItemRetrieve(item_id=delta.item_id))
        index = await driver.until_type(server.ConversationItemRetrieved)
        retrieved = driver.events[index]
        assert isinstance(retrieved, server.ConversationItemRetrieved)
        assert before.strip()
        assert retrieved.item["status"] == "incomplete"
        assert retrieved.item["content"][0]["transcript"] == ""


async def test_a_finished_response_that_still_sounds_can_be_cut(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.ask("Please say hello.")
        done = driver.all(server.ResponseDone)[-1]
        mark = len(driver.events)
        await driver.session.submit(Interrupt(response_id=done.response_id, heard_ms=0.0, reason="turn_detected"))
        await driver.session.submit(client.ConversationItemRetrieve(item_id=done.response["output"][0]["id"]))
        index = await driver.until_type(server.ConversationItemRetrieved, after=mark)
        retrieved = driver.events[index]
        assert isinstance(retrieved, server.ConversationItemRetrieved)
        assert retrieved.item["content"][0]["transcript"] == ""
        assert not driver.all(server.ResponseDone, after=mark)


async def test_interrupting_nothing_is_refused_by_name(engine: Engine) -> None:
    async with opened(engine) as driver:
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(Interrupt(response_id="resp_none", heard_ms=0.0, reason="barge_in"))
        assert refused.value.code == "response_not_active"
