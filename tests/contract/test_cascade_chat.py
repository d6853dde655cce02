"""Chat on the cascade's real models."""

from collections.abc import Callable
from contextlib import aclosing
from io import BytesIO

import numpy as np
import pytest
import soundfile
from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.cascade.engine import CascadeEngine
from omnitalk.engines.chat import ChatDelta, ChatMessage, ChatPart, ChatRequest
from omnitalk.media.audio import Samples
from omnitalk.protocol.session import SessionSettings

QUESTION = ChatPart(kind="text", text="What is the capital of France?")


async def ask(engine: Engine, *parts: ChatPart, speaks: bool = False, max_tokens: int | None = None) -> list[ChatDelta]:
    assert isinstance(engine, CascadeEngine)
    request = ChatRequest(messages=(ChatMessage(role="user", parts=parts),), speaks=speaks, max_tokens=max_tokens)
    async with aclosing(engine.chat(request)) as deltas:
        return [delta async for delta in deltas]


async def test_a_spoken_question_gets_words_and_sound(cascade: Engine, speak: Callable[[str], Samples]) -> None:
    file = BytesIO()
    soundfile.write(file, speak("What is the capital of France?"), 16_000, format="WAV")
    deltas = await ask(cascade, ChatPart(kind="audio", data=file.getvalue(), mime="audio/wav"), speaks=True)
    assert "Paris" in "".join(delta.text for delta in deltas)
    sound = np.frombuffer(b"".join(delta.audio for delta in deltas), "<i2")
    assert sound.size > 12_000 and np.abs(sound).max() > 1_000
    assert deltas[-1].finish == "stop" and deltas[-1].usage is not None and deltas[-1].usage.completion_tokens > 0


async def test_a_limit_ends_the_text(cascade: Engine) -> None:
    deltas = await ask(cascade, ChatPart(kind="text", text="Tell me a long story about a ship."), max_tokens=8)
    assert deltas[-1].finish == "length" and not any(delta.audio for delta in deltas)


@pytest.mark.parametrize(
    ("part", "code"),
    [(ChatPart(kind="image", data=b"x"), "unsupported_content"), (ChatPart(kind="audio", data=b"no sound"), "bad_audio")],
)
async def test_what_it_cannot_take_is_refused_by_name(cascade: Engine, part: ChatPart, code: str) -> None:
    with pytest.raises(EngineError) as refusal:
        await ask(cascade, part)
    assert refusal.value.code == code


async def test_a_call_comes_first(cascade: Engine) -> None:
    session = await cascade.open_session("call_first", SessionSettings())
    try:
        with pytest.raises(EngineError) as refusal:
            await ask(cascade, QUESTION)
        assert refusal.value.code == "resource_exhausted" and refusal.value.retryable
    finally:
        await session.close("client")
    assert "Paris" in "".join(delta.text for delta in await ask(cascade, QUESTION))


async def test_closing_stops_the_work_and_frees_the_place(cascade: Engine) -> None:
    assert isinstance(cascade, CascadeEngine)
    message = ChatMessage(role="user", parts=(ChatPart(kind="text", text="Tell me a long story."),))
    async with aclosing(cascade.chat(ChatRequest(messages=(message,), speaks=True))) as deltas:
        async for _ in deltas:
            break
    assert "Paris" in "".join(delta.text for delta in await ask(cascade, QUESTION))
