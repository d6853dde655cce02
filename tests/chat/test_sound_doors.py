"""Reading aloud and writing down, through the unmodified openai package and a live server on the test engine."""

import base64
import json
from typing import Any

import httpx
import openai
import pytest
from omnitalk.engines.echo import EchoEngine
from omnitalk.media.sounds import read_sound

from tests.websocket.live import serving, tone_of

from .files import wav
from .test_answers import server

WORDS = "one two three four five"


@pytest.mark.parametrize("form", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
async def test_a_text_is_read_aloud_in_every_format(form: Any) -> None:
    async with server() as (_, client):
        spoken = await client.audio.speech.create(model="omnitalk", voice="alloy", input=WORDS, response_format=form)
        assert spoken.response.headers["content-type"].startswith("audio/")
        data = spoken.content
        pcm = data if form == "pcm" else (read_sound(data, 24_000, 10.0) * 32767).astype("<i2").tobytes()
        assert len(pcm) == pytest.approx(48_000, abs=6_000)
        assert tone_of(pcm) == pytest.approx(300.0, abs=3.0)


async def test_speech_as_events() -> None:
    async with server() as (live, _), httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        body = {"input": WORDS, "response_format": "pcm", "stream_format": "sse"}
        answer = await http.post("/v1/audio/speech", json=body)
        events = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
        assert [event["type"] for event in events] == ["speech.audio.delta"] * 5 + ["speech.audio.done"]
        assert len(b"".join(base64.b64decode(event["audio"]) for event in events[:-1])) == 48_000


async def test_a_sound_is_written_down() -> None:
    async with server() as (_, client):
        heard = await client.audio.transcriptions.create(model="omnitalk", file=("a.wav", wav(1.5)), language="en")
        assert heard.text == "A sound of 1.5 seconds."
        plain = await client.audio.transcriptions.create(model="omnitalk", file=("a.wav", wav(0.5)), response_format="text")
        assert plain.strip() == "A sound of 0.5 seconds."
        stream = await client.audio.transcriptions.create(model="omnitalk", file=("a.wav", wav(1.5)), stream=True)
        events = [event async for event in stream]
        assert events[-1].type == "transcript.text.done" and events[-1].text == "A sound of 1.5 seconds."


@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"input": ""}, 400, "input"),
        ({"input": "x" * 5_000}, 400, "input"),
        ({"input": "..."}, 400, "input"),
        ({"voice": "nobody"}, 400, "voice"),
        ({"speed": 9}, 400, "speed"),
        ({"response_format": "midi"}, 400, "response_format"),
        ({"model": "tts-9"}, 404, "model"),
    ],
)
async def test_speech_that_cannot_be(change: dict[str, Any], status: int, param: str) -> None:
    async with server() as (live, _), httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        answer = await http.post("/v1/audio/speech", json={"input": WORDS, **change})
        assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


async def test_transcriptions_that_cannot_be() -> None:
    async with server() as (live, _), httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        path = "/v1/audio/transcriptions"

        async def refused(status: int, code: str, **request: Any) -> None:
            answer = await http.post(path, **request)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text

        await refused(415, "unsupported_media_type", json={})
        await refused(400, "bad_audio", files={"file": ("a.wav", b"no sound")})
        await refused(400, "bad_audio", files={"file": ("a.m3u8", b"#EXTM3U\nfile:///etc/passwd")})
        await refused(400, "missing_field", files={"other": ("a.wav", wav())})
        await refused(400, "invalid_value", files={"file": ("a.wav", wav())}, data={"response_format": "srt"})
        await refused(400, "invalid_form", files=[("file", ("a.wav", wav())), ("file", ("b.wav", wav()))])
        await refused(400, "invalid_form", content=b"xx", headers={"content-type": "multipart/form-data"})
        await refused(404, "model_not_found", files={"file": ("a.wav", wav())}, data={"model": "whisper-9"})


async def test_an_engine_that_cannot_says_so_and_is_not_asked_again() -> None:
    async with serving(EchoEngine()) as live, openai.AsyncOpenAI(base_url=f"http://{live.host}/v1", api_key="unused") as client:
        for ask in (
            client.chat.completions.create(model="omnitalk", messages=[{"role": "user", "content": "Hello."}]),
            client.audio.speech.create(model="omnitalk", voice="alloy", input=WORDS),
            client.audio.transcriptions.create(model="omnitalk", file=("a.wav", wav())),
        ):
            with pytest.raises(openai.InternalServerError) as refusal:
                await ask
            assert refusal.value.status_code == 501 and refusal.value.code == "unsupported_by_engine"
            assert refusal.value.response.headers["x-should-retry"] == "false"
