"""The cascade in conversation: spoken turns through the real models."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
import soxr
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import Engine
from omnitalk.media.audio import Samples
from omnitalk.protocol import client, server
from omnitalk.protocol.session import AudioFormat, SessionSettings, TurnDetection

Speak = Callable[[str], Samples]
VAD = SessionSettings(turn_detection=TurnDetection())


async def turn(driver: Driver, sound: Samples) -> str:
    """One spoken turn and its answer's transcript."""
    mark = len(driver.events)
    await driver.silence(0.4)
    await driver.hear(sound)
    await driver.silence(1.2)
    await driver.until_type(server.RateLimitsUpdated, after=mark)
    return driver.all(server.ResponseOutputAudioTranscriptDone, after=mark)[-1].transcript


async def test_a_spoken_question_is_answered(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        answer = await turn(driver, speak("What is the capital of France?"))
        [heard] = driver.all(server.InputAudioTranscriptionCompleted)
        assert "capital of France" in heard.transcript
        assert "Paris" in answer


async def test_what_was_said_before_is_remembered(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        await turn(driver, speak("My name is Anna."))
        await turn(driver, speak("What is the capital of France?"))
        assert "Anna" in await turn(driver, speak("What is my name?"))


async def test_a_turn_is_told_in_order(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        await turn(driver, speak("What is the capital of France?"))
        names = driver.types()
        assert names[: names.index("response.created")] == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "conversation.item.added",
            "conversation.item.created",
            "input_audio_buffer.committed",
            "conversation.item.input_audio_transcription.delta",
            "conversation.item.input_audio_transcription.completed",
            "conversation.item.done",
        ]
        [started], [stopped] = driver.all(server.InputAudioBufferSpeechStarted), driver.all(server.InputAudioBufferSpeechStopped)
        assert started.item_id == stopped.item_id == driver.all(server.InputAudioBufferCommitted)[0].item_id
        assert started.audio_start_ms < 700 < stopped.audio_end_ms
        assert len(driver.frames) > 40
        assert all(0.0 <= frame.probability <= 1.0 and frame.level_dbfs <= 0.0 for frame in driver.frames)


async def test_stage_times_and_the_context_gauge_are_told(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        await turn(driver, speak("What is the capital of France?"))
        await driver.until_type(server.OmnitalkContext)
        [stats] = driver.all(server.OmnitalkStats)
        assert {"vad_ms", "asr_ms", "llm_first_token_ms", "llm_first_clause_ms", "tts_ms", "first_sound_ms"} <= stats.stats.keys()
        [gauge] = driver.all(server.OmnitalkContext)
        assert 0 < gauge.used_tokens < gauge.max_tokens
        assert {"system", "user", "assistant"} <= gauge.by_kind.keys()


async def test_a_manual_turn(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade) as driver:
        await driver.hear(speak("What is the capital of France?"))
        await driver.session.submit(client.InputAudioBufferCommit())
        await driver.session.submit(client.ResponseCreate())
        await driver.until_type(server.RateLimitsUpdated)
        assert "capital of France" in driver.all(server.InputAudioTranscriptionCompleted)[0].transcript
        assert "Paris" in driver.all(server.ResponseOutputAudioTranscriptDone)[0].transcript
        assert not driver.all(server.InputAudioBufferSpeechStarted)


@pytest.mark.parametrize(("encoding", "rate"), [("pcm_f32le", 48_000), ("g711_ulaw", 8_000), ("pcm16", 44_100)])
async def test_sound_of_any_format_in_pieces_of_any_size(cascade: Engine, speak: Speak, encoding: str, rate: int) -> None:
    sound = np.asarray(soxr.resample(speak("What is the capital of France?"), 16_000, rate), dtype=np.float32)
    sizes = np.random.default_rng(7).integers(1, rate // 10, 10_000).tolist()
    async with opened(cascade, SessionSettings(input_format=AudioFormat(encoding=encoding, rate=rate))) as driver:
        await driver.hear(sound, rate, encoding=encoding, pieces=sizes)
        await driver.session.submit(client.InputAudioBufferCommit())
        await driver.until_type(server.InputAudioTranscriptionCompleted)
        assert "capital of France" in driver.all(server.InputAudioTranscriptionCompleted)[0].transcript


async def test_noise_is_not_answered(cascade: Engine) -> None:
    clicks = np.zeros(32_000, np.float32)
    clicks[8_000:8_960] = np.random.default_rng(1).uniform(-0.5, 0.5, 960)
    async with opened(cascade, VAD) as driver:
        await driver.hear(clicks)
        await driver.silence(1.5)
        await driver.session.submit(client.InputAudioBufferClear())
        await driver.until_type(server.InputAudioBufferCleared)
        assert not driver.all(server.ResponseCreated)


async def test_two_calls_at_once_do_not_hear_each_other(cascade: Engine, speak: Speak) -> None:
    async def call(name: str, driver: Driver) -> str:
        await turn(driver, speak(f"My name is {name}."))
        return await turn(driver, speak("What is my name?"))

    async with opened(cascade, VAD, "call_a") as first, opened(cascade, VAD, "call_b") as second:
        answers = await asyncio.gather(call("Anna", first), call("Peter", second))
    assert "Anna" in answers[0] and "Peter" not in answers[0]
    assert "Peter" in answers[1] and "Anna" not in answers[1]


async def test_semantic_vad_ends_a_finished_sentence(cascade: Engine, speak: Speak) -> None:
    detection = TurnDetection(type="semantic_vad", eagerness="low")
    async with opened(cascade, SessionSettings(turn_detection=detection)) as driver:
        await driver.hear(speak("What is the capital of France?"))
        # As slowly as it happens: the turn model needs its 20 ms, and the silence stays far below the 8 s maximum.
        for _ in range(100):
            await driver.silence(0.02)
            await asyncio.sleep(0.01)
        await driver.until_type(server.InputAudioBufferCommitted)


async def test_the_client_may_create_responses_itself(cascade: Engine, speak: Speak) -> None:
    detection = TurnDetection(create_response=False)
    async with opened(cascade, SessionSettings(turn_detection=detection)) as driver:
        await driver.hear(speak("What is the capital of France?"))
        await driver.silence(1.2)
        await driver.until_type(server.ConversationItemDone)
        await driver.settle()
        assert not driver.all(server.ResponseCreated)


async def test_a_response_outside_the_conversation_leaves_no_trace(cascade: Engine) -> None:
    async with opened(cascade) as driver:
        await driver.ask("Please say hello.")
        items = len(driver.all(server.ConversationItemAdded))
        mark = len(driver.events)
        given = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is the capital of France?"}]}]
        options = {"conversation": "none", "input": given, "output_modalities": ["text"], "metadata": {"side": "yes"}}
        await driver.session.submit(client.ResponseCreate(response=options))
        await driver.until_type(server.RateLimitsUpdated, after=mark)
        done = driver.all(server.ResponseDone, after=mark)[0]
        assert "Paris" in done.response["output"][0]["content"][0]["text"]
        assert done.response["conversation_id"] is None
        assert len(driver.all(server.ConversationItemAdded)) == items


async def test_a_reply_that_is_too_long_is_incomplete(cascade: Engine) -> None:
    async with opened(cascade) as driver:
        await driver.ask("Tell me a long story about a brave little ship.", max_output_tokens=12)
        done = driver.all(server.ResponseDone)[0]
        assert done.response["status"] == "incomplete"
        assert done.response["status_details"]["reason"] == "max_output_tokens"


async def test_nothing_is_heard_while_the_call_is_held(cascade: Engine, speak: Speak) -> None:
    async with opened(cascade, VAD) as driver:
        await driver.session.submit(client.OmnitalkHold(held=True))
        await driver.hear(speak("What is the capital of France?"))
        await driver.session.submit(client.OmnitalkHold(held=False))
        await driver.silence(1.5)
        await driver.session.submit(client.InputAudioBufferClear())
        await driver.until_type(server.InputAudioBufferCleared)
        assert not driver.all(server.InputAudioBufferSpeechStarted)


async def test_long_silence_leaves_nothing_behind(cascade: Engine) -> None:
    import psutil

    async with opened(cascade, VAD) as driver:
        before = 0
        for round_ in range(30):
            await driver.silence(5.0)
            await driver.until_heard((round_ + 1) * 5_000.0 - 32.0)
            driver.frames.clear()
            if round_ == 4:
                before = psutil.Process().memory_info().rss
        assert not driver.events
        assert psutil.Process().memory_info().rss - before < 4_000_000
