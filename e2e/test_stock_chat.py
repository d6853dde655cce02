"""Chat, reading aloud and transcribing on the real cascade, through the unmodified ``openai`` package."""

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator
from typing import Any

import httpx
import numpy as np
import openai
import pytest
import pytest_asyncio
from omnitalk.media.sounds import read_sound
from PIL import Image

from .support.recogniser import transcribe
from .support.server import Server
from .support.speech import say

QUESTION = "What is the capital of France?"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]
STORY: list[Any] = [{"role": "user", "content": "Tell me a long story about a brave little ship. Use many sentences."}]
MODEL = "omnitalk"


@pytest_asyncio.fixture
async def client(cascade_server: Server) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{cascade_server.url}/v1", api_key="unused", max_retries=0, timeout=90) as client:
        yield client


def wav(samples: np.ndarray[Any, Any], rate: int = 16_000) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ")


async def test_text(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model=MODEL, messages=ASK)
    assert "Paris" in (answer.choices[0].message.content or "")
    assert answer.usage is not None and answer.usage.prompt_tokens > 10 and answer.usage.completion_tokens > 1


async def test_a_stop_sequence_ends_the_text(client: openai.AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(model=MODEL, messages=ASK, temperature=0)
    words = (whole.choices[0].message.content or "").split()
    cut = await client.chat.completions.create(model=MODEL, messages=ASK, temperature=0, stop=[words[2]])
    assert cut.choices[0].finish_reason == "stop" and (cut.choices[0].message.content or "").split() == words[:2]
    assert cut.usage is not None and whole.usage is not None
    assert 0 < cut.usage.completion_tokens < whole.usage.completion_tokens


async def test_a_picture_is_refused_by_an_engine_that_does_not_see(client: openai.AsyncOpenAI) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(picture, "PNG")
    dot = base64.b64encode(picture.getvalue()).decode()
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{dot}"}}]
    with pytest.raises(openai.BadRequestError) as refusal:
        await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": content}])  # type: ignore[list-item,misc]
    assert (refusal.value.code, refusal.value.param) == ("unsupported_content", "messages[0].content[1].image_url")
    assert "does not see" in refusal.value.message


async def test_a_spoken_question_and_a_spoken_answer(client: openai.AsyncOpenAI) -> None:
    data = base64.b64encode(wav(say(QUESTION, 16_000))).decode()
    answer = await client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}]}],
        modalities=["text", "audio"],
        audio={"voice": "alloy", "format": "wav"},
    )
    audio = answer.choices[0].message.audio
    assert audio is not None and "Paris" in audio.transcript
    with wave.open(io.BytesIO(base64.b64decode(audio.data))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
    heard = transcribe(read_sound(base64.b64decode(audio.data), 16_000, 60))
    assert "paris" in heard.lower()


async def test_words_stream_while_speech_is_made(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model=MODEL,
        messages=STORY,
        modalities=["text", "audio"],
        audio={"voice": "alloy", "format": "pcm16"},
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=60,
    )
    words, sound, order, usage = "", b"", [], None
    async for chunk in stream:
        usage = chunk.usage or usage
        if chunk.choices and (audio := chunk.choices[0].delta.audio) is not None:
            words += audio.transcript or ""
            sound += base64.b64decode(audio.data or "")
            order += [name for name in ("transcript", "data") if getattr(audio, name)]
    assert order.count("transcript") > 20, "token by token"
    last_word = len(order) - 1 - order[::-1].index("transcript")
    assert order.index("data") < last_word, "speech begins before the last word is written"
    assert usage is not None and 20 < usage.completion_tokens <= 60
    samples = (np.frombuffer(sound, "<i2") / 32768).astype(np.float32)
    heard = set(plain(transcribe(_to_16k(samples))).split())
    said = set(plain(words).split())
    assert len(said & heard) > 0.6 * len(said), (words, heard)


def _to_16k(samples: np.ndarray[Any, Any]) -> Any:
    return read_sound(wav(samples, 24_000), 16_000, 120)


async def test_a_conversation_goes_on_after_a_client_left_in_the_middle(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model=MODEL, messages=STORY, stream=True, max_tokens=400)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    answer = await client.chat.completions.create(model=MODEL, messages=ASK)
    assert "Paris" in (answer.choices[0].message.content or "")


async def test_several_at_once_wait_for_each_other(client: openai.AsyncOpenAI) -> None:
    answers = await asyncio.gather(*(client.chat.completions.create(model=MODEL, messages=ASK) for _ in range(6)))
    assert all("Paris" in (answer.choices[0].message.content or "") for answer in answers)


async def test_too_long_a_conversation_is_the_requests_fault(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "word " * 20_000}])
    assert refusal.value.code == "context_length_exceeded"


async def test_a_text_is_read_aloud_and_understood(client: openai.AsyncOpenAI, cascade_server: Server) -> None:
    sentence = "The capital of France is Paris. The train leaves at seven."
    spoken = await client.audio.speech.create(model=MODEL, voice="alloy", input=sentence, response_format="mp3")
    heard = await client.audio.transcriptions.create(model=MODEL, file=("speech.mp3", spoken.content))
    assert "paris" in heard.text.lower() and "train" in heard.text.lower()
    async with httpx.AsyncClient(base_url=cascade_server.url) as http:
        answer = await http.post("/v1/audio/transcriptions", files={"file": ("a.mp3", spoken.content)}, data={"language": "fr"})
        assert answer.status_code == 400 and answer.json()["error"]["param"] == "language"


async def test_fields_that_it_would_have_to_ignore_are_refused(client: openai.AsyncOpenAI) -> None:
    await client.chat.completions.create(
        model=MODEL, messages=ASK, max_tokens=5, top_p=1, presence_penalty=0, response_format={"type": "text"}
    )
    with pytest.raises(openai.BadRequestError) as refusal:
        await client.chat.completions.create(model=MODEL, messages=ASK, response_format={"type": "json_object"})
    assert refusal.value.param == "response_format"
