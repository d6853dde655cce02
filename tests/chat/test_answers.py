"""Answers as the unmodified openai package reads them, from a live server on the test engine."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.engines.scripted.script import Reply, Script
from omnitalk.media.sounds import read_sound

from tests.websocket.live import Live, eventually, serving, tone_of

SCRIPT = Script(replies=(Reply(words="Paris is the capital of France.", seconds=1.2, hz=500.0),) * 2, pace=50.0, first_sound_s=0.0)
ASK: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
SPOKEN: dict[str, Any] = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}


@contextlib.asynccontextmanager
async def server(script: Script = SCRIPT, **settings: Any) -> AsyncIterator[tuple[Live, openai.AsyncOpenAI]]:
    async with serving(ScriptedEngine(script=script), **settings) as live:
        client = openai.AsyncOpenAI(base_url=f"http://{live.host}/v1", api_key="unused", max_retries=0)
        async with client:
            yield live, client


async def test_text() -> None:
    async with server() as (_, client):
        answer = await client.chat.completions.create(model="omnitalk", messages=ASK)
        assert answer.choices[0].message.content == "Paris is the capital of France."
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage is not None and (answer.usage.prompt_tokens, answer.usage.total_tokens) == (6, 12)
        assert answer.model == "scripted-turn"


async def test_text_stream_comes_token_by_token_with_usage_last() -> None:
    async with server() as (_, client):
        stream = await client.chat.completions.create(
            model="scripted-turn", messages=ASK, stream=True, stream_options={"include_usage": True}, max_tokens=3
        )
        chunks = [chunk async for chunk in stream]
        said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
        assert said == ["Paris", " is", " the"]
        assert chunks[0].choices[0].delta.role == "assistant"
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
        assert not chunks[-1].choices and chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 3
        assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.parametrize("form", ["wav", "flac", "mp3", "opus", "aac"])
async def test_speech_in_every_format(form: Any) -> None:
    async with server() as (_, client):
        answer = await client.chat.completions.create(
            model="omnitalk", messages=ASK, modalities=["text", "audio"], audio={"voice": "alloy", "format": form}
        )
        message = answer.choices[0].message
        assert message.content is None and message.audio is not None
        assert message.audio.transcript == "Paris is the capital of France."
        assert message.audio.expires_at > answer.created
        sound = read_sound(base64.b64decode(message.audio.data), 24_000, 60.0)
        assert sound.size == pytest.approx(28_800, abs=2_400)
        assert tone_of((sound * 32767).astype("<i2").tobytes()) == pytest.approx(500.0, abs=2.0)


async def test_speech_streams_as_pcm_beside_its_words() -> None:
    async with server() as (_, client):
        stream = await client.chat.completions.create(
            model="omnitalk", messages=ASK, modalities=["text", "audio"], audio={"voice": "alloy", "format": "pcm16"}, stream=True
        )
        words, sound, order = "", b"", []
        async for chunk in stream:
            if (audio := chunk.choices[0].delta.audio) is not None:
                words += audio.transcript or ""
                sound += base64.b64decode(audio.data or "")
                order += [name for name in ("transcript", "data") if getattr(audio, name)]
        assert words == "Paris is the capital of France."
        assert tone_of(sound) == pytest.approx(500.0, abs=2.0) and len(sound) == 2 * 28_800
        assert order.index("data") < len(order) - 1 - order[::-1].index("transcript"), "speech starts before the words are all written"


async def test_a_spoken_answer_is_named_by_its_id_in_the_next_request() -> None:
    async with server() as (live, client):
        first = await client.chat.completions.create(model="omnitalk", messages=ASK, **SPOKEN)
        assert first.choices[0].message.audio is not None
        named = {"role": "assistant", "audio": {"id": first.choices[0].message.audio.id}}
        await client.chat.completions.create(model="omnitalk", messages=[*ASK, named, {"role": "user", "content": "Why?"}])  # type: ignore[list-item]
        assert isinstance(live.engine, ScriptedEngine)
        assert live.engine.chats[-1].messages[1].parts[0].text == "Paris is the capital of France."
        with pytest.raises(openai.BadRequestError) as refusal:
            await client.chat.completions.create(model="omnitalk", messages=[*ASK, {"role": "assistant", "audio": {"id": "audio-none"}}])
        assert refusal.value.code == "audio_expired" and refusal.value.param == "messages[1].audio.id"


async def test_vllm_omnis_dialect() -> None:
    async with server() as (live, _), httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        body = {"model": "omnitalk", "messages": ASK, "modalities": ["text", "audio"]}
        whole = (await http.post("/v1/chat/completions?compat=vllm-omni", json=body)).json()["choices"][0]
        assert whole["message"]["content"] == "Paris is the capital of France." and whole["message"]["audio"]["transcript"] == ""
        assert whole["audio_metadata"] == {"format": "wav", "sample_rate_hz": 24_000, "frame_count": 28_800, "channels": 1}
        answer = await http.post("/v1/chat/completions", json={**body, "stream": True}, headers={"x-compat": "vllm-omni"})
        lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
        assert lines[-1] == "[DONE]"
        chunks = [httpx.Response(200, text=line).json() for line in lines[:-1]]
        text = "".join(c["choices"][0]["delta"]["content"] for c in chunks if c["modality"] == "text")
        waves = [base64.b64decode(c["choices"][0]["delta"]["content"]) for c in chunks if c["modality"] == "audio"]
        assert text == "Paris is the capital of France."
        assert len(read_sound(waves[0], 24_000, 5.0)) == 4_800, "each chunk is a file of its own"
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop" and chunks[-1]["modality"] == "audio"


async def test_settings_reach_the_engine() -> None:
    async with server() as (live, client):
        extra = {"chat_template_kwargs": {"enable_thinking": False, "use_tts_template": True}, "sampling_params_list": [{"seed": 1}]}
        await client.chat.completions.create(
            model="omnitalk",
            messages=[{"role": "developer", "content": "Be brief."}, *ASK],
            temperature=0.5,
            top_p=0.9,
            seed=7,
            stop=["\n"],
            user="me",
            extra_body=extra,
        )
        assert isinstance(live.engine, ScriptedEngine)
        asked = live.engine.chats[-1]
        assert (asked.temperature, asked.top_p, asked.seed, asked.stop) == (0.5, 0.9, 7, ("\n",))
        assert asked.messages[0].role == "system" and asked.template == extra["chat_template_kwargs"]
        assert asked.extra == {"sampling_params_list": [{"seed": 1}]}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_ends_the_work(stream: bool) -> None:
    slow = Script(replies=(Reply(words="word " * 500, seconds=100.0),), first_sound_s=0.0)
    async with server(slow) as (live, _):
        assert isinstance(live.engine, ScriptedEngine)
        body = {"messages": ASK, "modalities": ["text", "audio"], "stream": stream}
        async with httpx.AsyncClient(base_url=f"http://{live.host}", timeout=60) as http:
            asking = asyncio.create_task(http.post("/v1/chat/completions", json=body))
            await eventually(lambda: live.engine.chatting == 1)  # type: ignore[attr-defined]
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await eventually(lambda: live.engine.chatting == 0)  # type: ignore[attr-defined]


async def test_too_many_at_once_are_told_when_to_come_back() -> None:
    slow = Script(replies=(Reply(words="word " * 500, seconds=100.0),), first_sound_s=0.0)
    async with server(slow, max_requests=1) as (live, client):
        stream = await client.chat.completions.create(model="omnitalk", messages=ASK, stream=True)
        with pytest.raises(openai.RateLimitError) as refusal:
            await client.chat.completions.create(model="omnitalk", messages=ASK)
        assert refusal.value.code == "rate_limit_exceeded" and refusal.value.response.headers["retry-after"] == "5"
        await stream.close()
        await eventually(lambda: live.engine.chatting == 0)  # type: ignore[attr-defined]
        again = await client.chat.completions.create(model="omnitalk", messages=ASK)
        assert again.choices[0].message.content
