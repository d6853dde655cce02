"""Engines that fail: before the first word with a status, after it with an error event, and never with a 200 that looks whole."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx
import openai
import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.chat import ChatDelta, ChatRequest
from omnitalk.engines.scripted import ScriptedEngine

from tests.websocket.live import serving

from .asking import PATH

ASK: list[Any] = [{"role": "user", "content": "Hello."}]
DIED = EngineError("engine_dead", "The model's process has ended.", kind="server_error", retryable=True)


class Failing(ScriptedEngine):
    """Says these, then fails."""

    def __init__(self, said: tuple[ChatDelta, ...], problem: Exception | None) -> None:
        super().__init__()
        self._said, self._failure = said, problem

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        for delta in self._said:
            yield delta
        if self._failure is not None:
            raise self._failure


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (DIED, 503, "engine_dead"),
        (EngineError("resource_exhausted", "All are busy.", kind="rate_limit_error", retryable=True), 429, "resource_exhausted"),
        (EngineError("invalid_request", "Too long for this model."), 400, "invalid_request"),
        (EngineError("engine_error", "It failed.", kind="server_error"), 500, "engine_error"),
        (RuntimeError("secret path /etc/x"), 500, "internal_error"),
    ],
)
async def test_before_the_first_word(stream: bool, problem: Exception, status: int, code: str) -> None:
    async with serving(Failing((), problem)) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        answer = await http.post(PATH, json={"messages": ASK, "stream": stream})
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert "secret" not in answer.text
        assert ("retry-after" in answer.headers) == (status in (429, 503))


@pytest.mark.parametrize("problem", [DIED, RuntimeError("secret path /etc/x")])
async def test_in_the_middle(problem: Exception) -> None:
    async with serving(Failing((ChatDelta(text="Hel"),), problem)) as live:
        async with openai.AsyncOpenAI(base_url=f"http://{live.host}/v1", api_key="unused", max_retries=0) as client:
            said = ""
            with pytest.raises(openai.APIError):
                async for chunk in await client.chat.completions.create(model="omnitalk", messages=ASK, stream=True):
                    said += chunk.choices[0].delta.content or ""
            assert said == "Hel"
        async with httpx.AsyncClient(base_url=f"http://{live.host}") as http:
            text = (await http.post(PATH, json={"messages": ASK, "stream": True})).text
            assert '"error"' in text and "[DONE]" not in text and "secret" not in text
            assert (await http.post(PATH, json={"messages": ASK})).status_code >= 500


@pytest.mark.parametrize("stream", [True, False])
async def test_words_without_the_speech_that_was_asked_for(stream: bool) -> None:
    mute = Failing((ChatDelta(text="Hello."), ChatDelta(finish="stop")), None)
    async with serving(mute) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        answer = await http.post(PATH, json={"messages": ASK, "modalities": ["text", "audio"], "stream": stream})
        assert "no_audio_produced" in answer.text and "[DONE]" not in answer.text
        assert answer.status_code == (200 if stream else 500)
