"""Speech over a reply: the cascade asks the call, and does what it says."""

import asyncio
from collections.abc import Callable

from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import DismissInput, Engine, Interrupt, NearEndText, PlaybackProgress
from omnitalk.media.audio import Samples
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings, TurnDetection

Speak = Callable[[str], Samples]
VAD = SessionSettings(turn_detection=TurnDetection())
WORDS = "Stop, what is the capital of France?"


async def reply(driver: Driver) -> server.ResponseDone:
    """A reply that is made and, as the call says, still sounds."""
    await driver.ask("Please say hello.")
    done = driver.all(server.ResponseDone)[-1]
    await driver.session.submit(progress(done, sounding=True))
    return done


def progress(done: server.ResponseDone, *, sounding: bool) -> PlaybackProgress:
    """What the call tells of a reply that is being heard."""
    item_id = done.response["output"][0]["id"]
    return PlaybackProgress(response_id=done.response_id, item_id=item_id, played_ms=200.0, committed_ms=200.0, sounding=sounding)


async def burst(driver: Driver, sound: Samples) -> NearEndText:
    """Speech over the reply, until the engine has asked what it was."""
    await driver.hear(sound)
    await driver.silence(0.6)
    asked = driver.events[await driver.until_type(NearEndText)]
    assert isinstance(asked, NearEndText)
    return asked


async def test_a_burst_over_a_reply_is_transcribed_and_not_committed(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        await reply(driver)
        mark = len(driver.events)
        asked = await burst(driver, speak(WORDS))
        assert "France" in asked.text
        assert 500 < asked.duration_ms < 4_000
        assert driver.all(server.InputAudioBufferSpeechStarted, after=mark)[0].item_id == asked.item_id
        assert not driver.all(server.InputAudioBufferCommitted, after=mark)


async def test_a_dismissed_burst_leaves_no_trace(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        done = await reply(driver)
        mark = len(driver.events)
        await burst(driver, speak(WORDS))
        await driver.session.submit(DismissInput(reason="backchannel"))
        await driver.session.submit(progress(done, sounding=False))
        await driver.silence(1.0)
        # What follows is an ordinary turn, and the only one.
        await driver.hear(speak("My name is Anna."))
        await driver.silence(1.2)
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        [heard] = driver.all(server.InputAudioTranscriptionCompleted, after=mark)
        assert "Anna" in heard.transcript


async def test_an_interrupt_after_the_burst_makes_it_a_turn(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        done = await reply(driver)
        mark = len(driver.events)
        asked = await burst(driver, speak(WORDS))
        await driver.session.submit(Interrupt(response_id=done.response_id, heard_ms=200.0, reason="turn_detected"))
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        assert driver.all(server.InputAudioBufferCommitted, after=mark)[0].item_id == asked.item_id
        assert "Paris" in driver.all(server.ResponseOutputAudioTranscriptDone, after=mark)[0].transcript


async def test_an_interrupt_in_the_middle_of_speech_makes_it_an_ordinary_turn(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        done = await reply(driver)
        mark = len(driver.events)
        sound = speak(WORDS)
        await driver.hear(sound[: sound.size // 2])
        await driver.until_type(server.InputAudioBufferSpeechStarted, after=mark)
        await driver.session.submit(Interrupt(response_id=done.response_id, heard_ms=200.0, reason="turn_detected"))
        await driver.hear(sound[sound.size // 2 :])
        await driver.silence(1.2)
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        assert not driver.all(NearEndText)
        assert "France" in driver.all(server.InputAudioTranscriptionCompleted, after=mark)[0].transcript
        assert driver.all(server.ResponseDone, after=mark)[0].response["status"] == "completed"


async def test_speech_that_ends_after_the_reply_is_an_ordinary_turn(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        done = await reply(driver)
        mark = len(driver.events)
        await driver.hear(speak(WORDS))
        await driver.until_type(server.InputAudioBufferSpeechStarted, after=mark)
        await driver.session.submit(progress(done, sounding=False))
        await driver.silence(1.2)
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        assert not driver.all(NearEndText)
        assert driver.all(server.ResponseDone, after=mark)


async def test_a_hard_interrupt_also_forgets_what_was_heard(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        done = await reply(driver)
        mark = len(driver.events)
        await burst(driver, speak(WORDS))
        await driver.session.submit(Interrupt(response_id=done.response_id, heard_ms=0.0, reason="client_cancelled", hard=True))
        await driver.silence(1.0)
        await driver.session.submit(client.InputAudioBufferClear())
        await driver.until_type(server.InputAudioBufferCleared)
        assert not driver.all(server.InputAudioBufferCommitted, after=mark)


async def test_the_model_stops_working_for_a_cancelled_reply(cascade: Engine) -> None:
    async with opened(cascade) as driver:
        await driver.say("Tell me a very long story about a brave little ship. Use many sentences.")
        await driver.session.submit(client.ResponseCreate(response={"max_output_tokens": 1_000}))
        created = driver.all(server.ResponseCreated)
        index = await driver.until_type(server.ResponseOutputAudioDelta)
        delta = driver.events[index]
        assert isinstance(delta, server.ResponseOutputAudioDelta)
        await driver.session.submit(Interrupt(response_id=delta.response_id, heard_ms=10.0, reason="barge_in"))
        # The next reply needs the same place at the model: it could not come before a thousand tokens were written.
        async with asyncio.timeout(15):
            await driver.ask("Please say hello.", max_output_tokens=5)
        assert len(created) <= 1
