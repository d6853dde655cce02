"""Chat on the weights that hold calls: every kind of input, text and speech out, cancelled when nobody listens, second to calls."""

import asyncio
import io
import wave
from typing import Any

import numpy as np
import pytest
from omnitalk.bench.driver import opened
from omnitalk.engines.chat import ChatDelta, ChatEngine, ChatMessage, ChatPart, ChatRequest
from omnitalk.engines.omni import OmniEngine
from omnitalk.engines.omni.chat import ChatLine
from omnitalk.protocol import server

from .speech import picture, units

PATIENCE_S = 60.0


def ask(*parts: ChatPart, speaks: bool = False, **options: Any) -> ChatRequest:
    words = ChatPart(kind="text", text="What is this?")
    return ChatRequest(messages=(ChatMessage(role="user", parts=(*parts, words)),), speaks=speaks, max_tokens=24, **options)


async def whole(engine: OmniEngine, request: ChatRequest) -> list[ChatDelta]:
    async with asyncio.timeout(PATIENCE_S):
        return [delta async for delta in engine.chat(request)]


def wav(seconds: float) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(16_000)
        writer.writeframes(np.random.default_rng(0).normal(0, 2_000, int(seconds * 16_000)).astype("<i2").tobytes())
    return file.getvalue()


async def test_it_chats_in_text(omni: OmniEngine) -> None:
    assert isinstance(omni, ChatEngine)
    assert omni.capabilities.chat
    deltas = await whole(omni, ask())
    assert "".join(delta.text for delta in deltas).strip()
    assert [delta.finish for delta in deltas if delta.finish]
    usage = [delta.usage for delta in deltas if delta.usage][-1]
    assert usage.prompt_tokens > 5
    assert 0 < usage.completion_tokens <= 24


def film(seconds: int) -> bytes:
    """An MP4 without sound, 4 pictures a second."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        for index in range(4 * seconds):
            frame = av.VideoFrame.from_ndarray(np.full((120, 160, 3), index * 10 % 256, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


@pytest.mark.parametrize("kind", ["image", "audio", "video"])
async def test_it_takes_pictures_sound_and_films(omni: OmniEngine, kind: str) -> None:
    part = {
        "image": lambda: ChatPart(kind="image", data=picture(3), mime="image/jpeg"),
        "audio": lambda: ChatPart(kind="audio", data=wav(1.5), mime="audio/wav"),
        "video": lambda: ChatPart(kind="video", data=film(2), mime="video/mp4"),
    }[kind]()
    plain = [delta.usage for delta in await whole(omni, ask()) if delta.usage][-1]
    deltas = await whole(omni, ask(part))
    assert "".join(delta.text for delta in deltas).strip()
    usage = [delta.usage for delta in deltas if delta.usage][-1]
    # 64 vectors a picture (a film gives one a second), 10 a second of sound.
    assert usage.prompt_tokens - plain.prompt_tokens >= {"image": 60, "audio": 12, "video": 120}[kind]


async def test_it_speaks_while_a_call_goes_on(omni: OmniEngine, engine: object) -> None:
    async with opened(omni) as call:
        deltas, _ = await asyncio.gather(whole(omni, ask(speaks=True)), units(call, "SNNNNN", pace_s=0.8))
        assert "".join(delta.text for delta in deltas).strip()
        assert sum(len(delta.audio) for delta in deltas) > 24_000
        await call.until_type(server.ResponseDone)
        assert call.all(server.ResponseDone)[0].response["status"] == "completed"


async def test_an_answer_that_nobody_wants_any_more_is_given_up(omni: OmniEngine) -> None:
    answer = omni.chat(ask(speaks=True))
    async with asyncio.timeout(PATIENCE_S):
        await anext(answer)
        await answer.aclose()  # type: ignore[attr-defined]
        await whole(omni, ask())


async def test_calls_come_first() -> None:
    calls = 0
    line = ChatLine(2, lambda: calls)
    async with line.place():
        calls = 1
        second = asyncio.create_task(line.place().__aenter__())
        await asyncio.sleep(0.12)
        assert not second.done()
        calls = 0
        line.moved()
        async with asyncio.timeout(5):
            await second
