"""The scripted engine's native vocabulary: units by count of samples, decisions with reasons, chunks once a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import EngineError, Interrupt
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine, frequency_of
from omnitalk.protocol import client, server
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.session import SessionSettings

SETTINGS = SessionSettings(ref_audio="data:audio/wav;base64,", auto_response=True)
UNIT = 16_000
JPEG = b"\xff\xd8\xff\xe0"


class Second:
    """Time that a test lets pass, one second of the model's at a time."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._passes = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.asked.append(seconds)
            await self._passes.acquire()

    def passes(self, count: int = 1) -> None:
        for _ in range(count):
            self._passes.release()


@asynccontextmanager
async def native(*replies: Reply, settings: SessionSettings = SETTINGS) -> AsyncIterator[tuple[Driver, Second]]:
    second = Second()
    engine = ScriptedEngine("minicpm", script=Script(replies=replies), sleep=second.sleep)
    await engine.start()
    async with opened(engine, settings) as driver:
        yield driver, second


def append(samples: np.ndarray[Any, Any], **fields: Any) -> client.InputAudioBufferAppend:
    return client.InputAudioBufferAppend(audio=bytes((samples * 32767).astype("<i2")), **fields)


def speech(samples: int = UNIT) -> np.ndarray[Any, Any]:
    return np.asarray(0.3 * np.sin(np.arange(samples) * 0.1), np.float32)


def quiet(samples: int = UNIT) -> np.ndarray[Any, Any]:
    return np.zeros(samples, np.float32)


def reasons(driver: Driver) -> list[str]:
    return [event.response["metadata"]["reason"] for event in driver.all(server.ResponseListen)]


THREE = Reply(words="one two three four five six", seconds=2.84)


async def test_a_decision_comes_for_every_second_of_sound_however_it_is_cut_up() -> None:
    async with native() as (driver, _):
        for _ in range(150):
            await driver.session.submit(append(quiet(320)))
        await driver.settle()
        assert reasons(driver) == ["model_listen"] * 3
        await driver.session.submit(append(quiet(int(2.5 * UNIT))))
        await driver.settle()
        assert len(reasons(driver)) == 5


async def test_a_turn_is_answered_after_a_quiet_unit_840_ms_first_then_one_chunk_a_second() -> None:
    async with native(THREE) as (driver, second):
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        await driver.until_type(server.ResponseOutputAudioDelta)
        await driver.settle()
        lengths = [len(event.delta) / 48 for event in driver.all(server.ResponseOutputAudioDelta)]
        assert lengths == [840]
        second.passes(2)
        await driver.until_type(server.RateLimitsUpdated)
        deltas = driver.all(server.ResponseOutputAudioDelta)
        assert [len(event.delta) / 48 for event in deltas] == [840, 1_000, 1_000]
        assert second.asked == [1.0, 1.0]
        assert [event.metadata["end_of_turn"] for event in deltas if event.metadata is not UNSET] == [False, False, True]
        assert len(driver.all(server.ResponseOutputAudioTranscriptDelta)) == 3
        assert len(driver.all(server.ResponseSpeak)) == 1
        assert reasons(driver)[-1] == "auto_response_segment_complete"
        sound = np.frombuffer(b"".join(event.delta for event in deltas), "<i2").astype(float)
        assert abs(np.argmax(np.abs(np.fft.rfft(sound))) * 24_000 / sound.size - frequency_of(0)) < 1.0


async def test_speech_over_a_reply_is_answered_after_it() -> None:
    async with native(THREE, THREE) as (driver, second):
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        await driver.until_type(server.ResponseOutputAudioDelta)
        await driver.session.submit(append(speech()))
        second.passes(2)
        await driver.until_type(server.RateLimitsUpdated)
        assert driver.all(server.ResponseDone)[0].response["status"] == "completed"
        mark = len(driver.events)
        await driver.session.submit(append(quiet()))
        await driver.until_type(server.ResponseOutputAudioDelta, after=mark)


async def test_force_listen_yields_the_floor_inside_the_reply() -> None:
    async with native(THREE) as (driver, _):
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        index = await driver.until_type(server.ResponseOutputAudioDelta)
        delta = driver.events[index]
        assert isinstance(delta, server.ResponseOutputAudioDelta)
        await driver.session.submit(append(speech(), force_listen=True))
        await driver.until_type(server.ResponseDone)
        listen = driver.all(server.ResponseListen)[-1]
        assert (listen.response_id, listen.response["metadata"]["reason"]) == (delta.response_id, "model_listen")
        assert len(driver.all(server.ResponseOutputAudioDelta)) == 1


async def test_the_model_may_give_way_by_itself() -> None:
    yielding = Reply(words="one two three", seconds=2.84, yields_after=1)
    async with native(yielding) as (driver, _):
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        await driver.until_type(server.ResponseDone)
        assert driver.all(server.ResponseListen)[-1].response_id is not UNSET
        assert driver.all(server.ResponseDone)[0].response["status"] == "cancelled"


async def test_a_soft_interrupt_keeps_the_session_and_the_next_turn_has_a_new_id() -> None:
    async with native(THREE, THREE) as (driver, _):
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        index = await driver.until_type(server.ResponseOutputAudioDelta)
        first = driver.events[index]
        assert isinstance(first, server.ResponseOutputAudioDelta)
        await driver.session.submit(Interrupt(response_id=first.response_id, heard_ms=300.0, reason="turn_detected"))
        mark = len(driver.events)
        await driver.session.submit(append(speech()))
        await driver.session.submit(append(quiet()))
        index = await driver.until_type(server.ResponseOutputAudioDelta, after=mark)
        second = driver.events[index]
        assert isinstance(second, server.ResponseOutputAudioDelta) and second.response_id != first.response_id


async def test_one_group_of_frames_is_seen_for_every_second() -> None:
    async with native() as (driver, _):
        for _ in range(3):
            await driver.session.submit(append(quiet(320), video_frames=[JPEG, JPEG]))
        for _ in range(2):
            await driver.session.submit(append(quiet()))
        assert driver.session.frames_seen == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (client.InputTextAppend(text="hello"), "native_text_append_unsupported"),
        (client.ResponseCreate(), "text_only_turn_unsupported"),
        (client.ResponseCreate(response={"instructions": "x"}), "unsupported_native_response_options"),
        (client.InputAudioBufferAppend(video_frames=[JPEG]), "invalid_input_modality"),
        (client.InputAudioBufferCommit(), "input_audio_buffer_empty"),
    ],
)
async def test_what_it_cannot_do_is_refused_by_name(command: Any, code: str) -> None:
    async with native() as (driver, _):
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(command)
        assert refused.value.code == code


async def test_a_spoken_session_needs_a_reference_voice() -> None:
    engine = ScriptedEngine("minicpm")
    await engine.start()
    with pytest.raises(EngineError) as refused:
        await engine.open_session("call_1", SessionSettings())
    assert refused.value.code == "ref_audio_required"
    async with opened(engine, SessionSettings(output_modalities=("text",))):
        pass


async def test_pictures_are_items_in_the_turn_taking_vocabulary() -> None:
    engine = ScriptedEngine("qwen3")
    await engine.start()
    async with opened(engine) as driver:
        image = {"type": "input_image", "image_url": "data:image/jpeg;base64,/9j/"}
        item = {"type": "message", "role": "user", "content": [image, {"type": "input_text", "text": "What is it?"}]}
        await driver.session.submit(client.ConversationItemCreate(item=item))
        await driver.session.submit(client.ResponseCreate())
        await driver.until_type(server.RateLimitsUpdated)
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.InputAudioBufferAppend(audio=bytes(640), video_frames=[JPEG]))
        assert refused.value.code == "invalid_video_frames"
    for settings in (SessionSettings(ref_audio="data:,"), SessionSettings(auto_response=True), SessionSettings(tools=({"name": "x"},))):
        with pytest.raises(EngineError):
            await engine.open_session("call_1", settings)
