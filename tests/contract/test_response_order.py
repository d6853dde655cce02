"""A response is whole and in order, with the words of every piece of sound beside it."""

import pytest
from omnitalk.bench.driver import Driver, opened
from omnitalk.engines.base import Engine
from omnitalk.protocol import server
from omnitalk.protocol.session import AudioFormat, SessionSettings

HEAD = [
    "response.created",
    "conversation.item.added",
    "conversation.item.created",
    "response.output_item.added",
    "response.content_part.added",
    "response.speak",
]
TAIL = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
    "rate_limits.updated",
]


def of_response(driver: Driver, first: int, last: int) -> list[str]:
    """The response's own events: without gauges, states and listening."""
    return [name for name in driver.types(after=first)[: last - first + 1] if not name.startswith("omnitalk.")]


async def test_a_spoken_response_is_whole_and_in_order(engine: Engine) -> None:
    async with opened(engine) as driver:
        first, last = await driver.ask("Please say hello.")
        names = of_response(driver, first, last)
        assert names[: len(HEAD)] == HEAD
        assert names[-len(TAIL) :] == TAIL
        deltas = names[len(HEAD) : -len(TAIL)]
        assert deltas and deltas == ["response.output_audio.delta", "response.output_audio_transcript.delta"] * (len(deltas) // 2)


async def test_every_event_of_a_response_carries_its_ids(engine: Engine) -> None:
    async with opened(engine) as driver:
        first, last = await driver.ask("Please say hello.")
        created = driver.events[first]
        assert isinstance(created, server.ResponseCreated)
        scoped = [event for event in driver.events[first : last + 1] if isinstance(event, server.ResponseScoped)]
        assert {event.response_id for event in scoped} == {created.response_id}
        assert len({event.item_id for event in scoped}) == 1
        done = driver.all(server.ResponseDone)[-1]
        assert done.response_id == created.response_id
        assert done.response["id"] == created.response_id
        assert done.response["status"] == "completed"
        [item] = done.response["output"]
        assert item["id"] == scoped[0].item_id
        assert item["role"] == "assistant"


async def test_transcript_is_the_sum_of_its_deltas(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.ask("Please say hello.")
        words = "".join(event.delta for event in driver.all(server.ResponseOutputAudioTranscriptDelta))
        [done] = driver.all(server.ResponseOutputAudioTranscriptDone)
        assert words.strip()
        assert done.transcript == words
        assert driver.all(server.ResponseDone)[-1].response["output"][0]["content"][0]["transcript"] == words


async def test_sound_says_how_long_it_is_and_where_its_words_end(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.ask("Please say hello.")
        total_ms, chars, ends = 0.0, 0, [0.0]
        deltas = driver.all(server.ResponseOutputAudioDelta)
        for delta, words in zip(deltas, driver.all(server.ResponseOutputAudioTranscriptDelta), strict=True):
            total_ms += len(delta.delta) / 2 * 1000.0 / delta.sample_rate_hz
            assert isinstance(delta.metadata, dict)
            assert abs(delta.metadata["audio_duration_ms"] - total_ms) < 1.0
            chars += len(words.delta)
            for mark in delta.metadata["audio_text_marks"]:
                assert mark["text_chars"] <= chars
                assert mark["audio_end_ms"] >= ends[-1]
                ends.append(mark["audio_end_ms"])
        assert len(ends) > 1
        assert ends[-1] <= total_ms + 1.0


async def test_a_text_only_session_answers_in_text(engine: Engine) -> None:
    async with opened(engine, SessionSettings(output_modalities=("text",))) as driver:
        await driver.ask("Please say hello.")
        assert not driver.all(server.ResponseOutputAudioDelta)
        text = "".join(event.delta for event in driver.all(server.ResponseOutputTextDelta))
        [done] = driver.all(server.ResponseOutputTextDone)
        assert text.strip()
        assert done.text == text


async def test_sound_comes_in_the_format_that_the_session_asked_for(engine: Engine) -> None:
    async with opened(engine, SessionSettings(output_format=AudioFormat(encoding="g711_ulaw", rate=8_000))) as driver:
        await driver.ask("Please say hello.")
        deltas = driver.all(server.ResponseOutputAudioDelta)
        assert {(delta.format, delta.sample_rate_hz) for delta in deltas} == {("g711_ulaw", 8_000)}
        metadata = deltas[-1].metadata
        assert isinstance(metadata, dict)
        assert abs(sum(len(delta.delta) for delta in deltas) / 8.0 - metadata["audio_duration_ms"]) < 2.0


async def test_metadata_of_a_response_comes_back(engine: Engine) -> None:
    if not engine.capabilities.text_input:
        pytest.skip("its responses begin by themselves: nobody can give them metadata")
    async with opened(engine) as driver:
        await driver.ask("Please say hello.", metadata={"topic": "greeting"})
        assert driver.all(server.ResponseDone)[-1].response["metadata"] == {"topic": "greeting"}
