"""``POST /v1/chat/completions`` on the real engine: both dialects, every kind of part, and refusals that are the request's fault."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest_asyncio
from omnitalk.api.app import create_app
from omnitalk.engines.omni import OmniEngine
from omnitalk.media.sounds import read_sound
from omnitalk.settings import ServeSettings

from tests.chat.asking import PATH, by_url, user
from tests.chat.files import data_url, film, picture, wav

WORDS = {"type": "text", "text": "What is this?"}
SPOKEN: dict[str, Any] = {"modalities": ["text", "audio"], "audio": {"voice": "alloy"}, "max_tokens": 24}


@pytest_asyncio.fixture
async def http(omni: OmniEngine) -> AsyncIterator[httpx.AsyncClient]:
    # Without the app's lifespan: the engine is up already, and lives on after the test.
    app = create_app(ServeSettings(engine="omni", webrtc=False), omni)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server", timeout=90) as client:
        yield client


def chunks_of(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]", lines[-1]
    return [json.loads(line) for line in lines[:-1]]


async def test_everything_in_and_speech_out_whole(http: httpx.AsyncClient) -> None:
    parts = [by_url("image_url", data_url(picture())), by_url("audio_url", data_url(wav(1.0))), by_url("video_url", data_url(film(2.0)))]
    answer = (await http.post(PATH, json={**user(*parts, WORDS), **SPOKEN})).json()
    audio = answer["choices"][0]["message"]["audio"]
    assert audio["transcript"].strip() and answer["choices"][0]["message"]["content"] is None
    assert read_sound(base64.b64decode(audio["data"]), 24_000, 60.0).size > 2_400
    assert answer["usage"]["prompt_tokens"] > 20 and 0 < answer["usage"]["completion_tokens"] <= 24


async def test_words_and_speech_stream_in_both_dialects(http: httpx.AsyncClient) -> None:
    body = {**user(WORDS), **SPOKEN, "stream": True, "stream_options": {"include_usage": True}}
    ours = chunks_of(await http.post(PATH, json=body))
    audio = [choice["delta"].get("audio") or {} for chunk in ours for choice in chunk["choices"]]
    assert "".join(each.get("transcript", "") for each in audio).strip()
    assert len(b"".join(base64.b64decode(each.get("data", "")) for each in audio)) > 4_800
    assert ours[-1]["usage"]["completion_tokens"] > 0
    theirs = chunks_of(await http.post(PATH, params={"compat": "vllm-omni"}, json=body))
    waves = [choice["delta"]["content"] for chunk in theirs if chunk.get("modality") == "audio" for choice in chunk["choices"]]
    assert all(base64.b64decode(each)[:4] == b"RIFF" for each in waves if each) and any(waves)


async def test_text_comes_token_by_token(http: httpx.AsyncClient) -> None:
    chunks = chunks_of(await http.post(PATH, json={**user(WORDS), "stream": True, "max_tokens": 12}))
    assert sum(bool(choice["delta"].get("content")) for chunk in chunks for choice in chunk["choices"]) > 3


async def test_a_reference_voice_is_taken(http: httpx.AsyncClient) -> None:
    answer = await http.post(PATH, json={**user(WORDS), **SPOKEN, "ref_audio": data_url(wav(2.0))})
    assert answer.status_code == 200, answer.text


async def test_what_the_model_does_not_take_is_the_requests_fault(http: httpx.AsyncClient) -> None:
    long = await http.post(PATH, json=user({"type": "text", "text": "word " * 50_000}))
    assert long.status_code == 400 and long.json()["error"]["type"] == "invalid_request_error"
    aloud = await http.post("/v1/audio/speech", json={"input": "Hello."})
    assert aloud.status_code == 501 and aloud.json()["error"]["code"] == "unsupported_by_engine"
