"""Any OpenAI-compatible endpoint as the language model: Ollama, llama.cpp, vLLM, or a hosted one."""

import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import httpx

from omnitalk.engines.base import EngineError

from .llm import ChatMessage, LlmChunk, LlmUsage

__all__ = ["HttpLlm"]

_CONNECT_S = 5.0
_READ_S = 60.0
_MAX_LINE = 1_000_000

_FRESH_S = 5.0
"""A picture older than this is not what the person talks about: their camera is off, or its link is gone."""


class HttpLlm:
    """``base_url`` ends where ``/chat/completions`` begins, e.g. ``http://127.0.0.1:11434/v1``."""

    def __init__(self, base_url: str, *, model: str, api_key: str | None = None, context_tokens: int = 8192, sees: bool = False) -> None:
        self.name, self.context_tokens, self.sees = model, context_tokens, sees
        self._url = base_url.rstrip("/")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S))

    async def start(self) -> None:
        """Check that the endpoint answers and knows the model. Raises ``EngineError`` with a sentence."""
        stream = self.seat("warm-up").stream([{"role": "user", "content": "Hello."}], max_tokens=1, temperature=None)
        try:
            async for _ in stream:
                pass
        finally:
            await stream.aclose()

    def seat(self, key: str) -> "_Seat":
        """The endpoint keeps nothing for a call, so there is always a place."""
        return _Seat(self._client, self._url, self.name)

    async def stop(self) -> None:
        """Close the connections. Idempotent."""
        await self._client.aclose()


class _Seat:
    def __init__(self, client: httpx.AsyncClient, url: str, model: str) -> None:
        self._client, self._url, self._model = client, url, model
        self._picture: tuple[bytes, float] | None = None
        self.looked = False

    def look(self, jpeg: bytes) -> None:
        """Kept until a newer one comes or it is no longer what is shown."""
        self._picture = jpeg, time.monotonic()

    def _with_picture(self, messages: list[ChatMessage]) -> list[dict[str, Any]]:
        """The newest picture beside the newest words; earlier turns keep their words only, which keeps a long call affordable."""
        sent: list[dict[str, Any]] = [dict(message) for message in messages]
        self.looked = self._picture is not None and time.monotonic() - self._picture[1] < _FRESH_S and sent[-1]["role"] == "user"
        if self.looked and self._picture is not None:
            url = f"data:image/jpeg;base64,{base64.b64encode(self._picture[0]).decode()}"
            sent[-1]["content"] = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": sent[-1]["content"]}]
        return sent

    async def stream(
        self, messages: list[ChatMessage], *, max_tokens: int, temperature: float | None, stop: tuple[str, ...] = ()
    ) -> AsyncGenerator[LlmChunk, None]:
        """The answer as it is written; closing the generator closes the connection, which stops the work there."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": self._with_picture(messages),
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if temperature is not None:
            body["temperature"] = temperature
        if stop:
            body["stop"] = list(stop)
        try:
            async with self._client.stream("POST", f"{self._url}/chat/completions", json=body) as response:
                if response.status_code != 200:
                    detail = (await response.aread())[:300].decode(errors="replace")
                    raise _problem(f"{self._url} answered {response.status_code} for model {self._model!r}: {detail}")
                # Closed by us: an error while a line is read would leave the library's generators to the collector.
                lines = cast(AsyncGenerator[str, None], response.aiter_lines())
                async with aclosing(lines):
                    async for line in lines:
                        chunk = _read(line)
                        if chunk is not None:
                            yield chunk
        except httpx.HTTPError as error:
            raise _problem(f"{self._url} cannot be reached ({type(error).__name__}). Is the server running?") from error

    async def prefill(self, messages: list[ChatMessage]) -> None:
        """Nothing: reading ahead would be paid twice on a shared server."""

    def close(self) -> None:
        """Nothing is held."""


def _problem(message: str) -> EngineError:
    return EngineError("engine_error", f"The language model endpoint failed: {message}", kind="server_error", retryable=True)


def _read(line: str) -> LlmChunk | None:
    if not line.startswith("data:") or len(line) > _MAX_LINE:
        return None
    data = line[5:].strip()
    if data == "[DONE]":
        return None
    try:
        entry = json.loads(data)
        if "error" in entry:
            raise _problem(str(entry["error"])[:300])
        choices = entry.get("choices") or []
        text = "".join((choice.get("delta") or {}).get("content") or "" for choice in choices)
        reason = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
        usage = None
        if entry.get("usage"):
            used = entry["usage"]
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            usage = LlmUsage(used["prompt_tokens"], used["completion_tokens"], cached)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _problem(f"it sent something that is no chat completion chunk: {data[:200]}") from error
    return LlmChunk(text, usage, reason) if text or usage is not None or reason is not None else None
