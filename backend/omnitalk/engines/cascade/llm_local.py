"""A GGUF model in this process, through llama.cpp's server core (xllamacpp).

Each call holds one of the server's slots, so its conversation stays in the slot's KV cache and a new turn costs only its own words. The
slots decode in one batch: two people talking cost little more than one.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from omnitalk.engines.base import EngineError

from .llm import ChatMessage, LlmChunk, LlmUsage
from .workers import WorkerPool

__all__ = ["LocalLlm"]

_REPEAT_PENALTY = 1.1
"""A 0.5B model repeats itself without it."""

_PREFILL_BATCH = 128
"""Tokens read between two chances to stop: about 0.7 s of two cores."""

_WARM_UP: list[ChatMessage] = [{"role": "user", "content": "Hello."}]


class LocalLlm:
    """``seats`` calls at once, ``context_tokens`` each. ``threads``: cores that it may use."""

    def __init__(self, path: Path, *, name: str, seats: int, context_tokens: int = 4096, threads: int = 2) -> None:
        self.name, self.context_tokens = name, context_tokens
        self.sees = False
        self._path, self._seats, self._threads = path, seats, threads
        self._free = list(range(seats))
        self._server: Any = None
        self._pool: WorkerPool | None = None

    async def start(self) -> None:
        """Load and warm up. Raises ``EngineError`` when the file cannot be loaded."""
        self._pool = WorkerPool("llm", threads=self._seats)
        try:
            self._server = await self._pool.run("load", self._load)
        except Exception as error:
            raise EngineError("engine_error", f"The language model {self._path} cannot be loaded: {error}", kind="server_error") from error
        seat = self.seat("warm-up")
        try:
            await seat.prefill(_WARM_UP)
        finally:
            seat.close()

    def _load(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_parallel = self._seats
        params.n_ctx = self.context_tokens * self._seats
        params.kv_unified = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.n_batch = params.n_ubatch = _PREFILL_BATCH
        # The slots themselves are the cache; a second one in RAM would grow to gigabytes.
        params.cache_ram_mib = 0
        params.n_ctx_checkpoints = 0
        params.verbosity = -1
        # The core also listens on a loopback port. Nobody gets in: the key is thrown away.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.ui = False
        params.endpoint_slots = False
        return xllamacpp.Server(params)

    def seat(self, key: str) -> "_Seat":
        """A slot. Raises ``EngineError`` (``resource_exhausted``) when every one is taken."""
        if self._pool is None or self._server is None:
            raise EngineError("engine_error", "The language model is not loaded.", kind="server_error")
        if not self._free:
            raise EngineError("resource_exhausted", f"All {self._seats} places are taken.", kind="rate_limit_error", retryable=True)
        return _Seat(self._server, self._pool, key, self._free.pop(0), self._free)

    async def stop(self) -> None:
        """Free the model. Idempotent."""
        pool, self._pool, self._server = self._pool, None, None
        if pool is not None:
            await asyncio.to_thread(pool.close)


class _Seat:
    def __init__(self, server: Any, pool: WorkerPool, key: str, slot: int, free: list[int]) -> None:
        self._server, self._pool, self._key = server, pool, key
        self._slot, self._free = slot, free
        self._open = True

    async def stream(
        self, messages: list[ChatMessage], *, max_tokens: int, temperature: float | None, stop: tuple[str, ...] = ()
    ) -> AsyncGenerator[LlmChunk, None]:
        """The answer as it is written; closing the generator stops the decoding at the next token."""
        loop = asyncio.get_running_loop()
        # The decoder's thread cannot wait for a reader. It says at most a few things a token, so this bound is never met.
        chunks: asyncio.Queue[LlmChunk | EngineError | None] = asyncio.Queue(4 * max_tokens + 1_024)
        stopped = threading.Event()
        request = {
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": 0.0 if temperature is None else temperature,
            "repeat_penalty": _REPEAT_PENALTY,
            "stream": True,
            "return_progress": True,
            "cache_prompt": True,
            "id_slot": self._slot,
            **({"stop": list(stop)} if stop else {}),
        }

        def post(item: LlmChunk | EngineError | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(chunks.put_nowait, item)

        def take(raw: Any) -> bool:
            if stopped.is_set():
                return True
            for entry in _entries(raw):
                found = _read(entry)
                if found is not None:
                    post(found)
            return False

        def work() -> None:
            try:
                if not stopped.is_set():
                    self._server.handle_chat_completions(request, take)
            finally:
                post(None)

        job = asyncio.ensure_future(self._pool.run(self._key, work))
        try:
            while (item := await chunks.get()) is not None:
                if isinstance(item, EngineError):
                    raise item
                yield item
            await job
        finally:
            stopped.set()
            job.cancel()

    async def prefill(self, messages: list[ChatMessage]) -> None:
        """Fill the slot's cache with these messages."""
        stream = self.stream(messages, max_tokens=1, temperature=None)
        try:
            async for _ in stream:
                pass
        finally:
            await stream.aclose()

    looked = False

    def look(self, jpeg: bytes) -> None:
        """The embedded model has no eyes; nobody calls this."""

    def close(self) -> None:
        """Give the slot back; its cache is overwritten by the next call's first prompt. Idempotent."""
        if self._open:
            self._open = False
            self._free.append(self._slot)


def _entries(raw: Any) -> list[dict[str, Any]]:
    value = json.loads(raw) if isinstance(raw, str | bytes) else raw
    return value if isinstance(value, list) else [value]


def _read(entry: dict[str, Any]) -> LlmChunk | EngineError | None:
    problem = entry.get("error", entry if "message" in entry and "code" in entry else None)
    if problem is not None:
        if problem.get("type") == "exceed_context_size_error":
            have, asked = problem.get("n_ctx"), problem.get("n_prompt_tokens")
            sentence = f"These messages are {asked} tokens long, and the model reads {have}; send fewer or shorter ones."
            return EngineError("context_length_exceeded", sentence, param="messages")
        return EngineError("engine_error", f"The language model refused: {problem.get('message', problem)}", kind="server_error")
    text, reason = "", None
    for choice in entry.get("choices") or []:
        text += (choice.get("delta") or {}).get("content") or ""
        reason = choice.get("finish_reason") or reason
    timings = entry.get("timings")
    usage = None
    if timings is not None and reason is not None:
        cached = max(0, timings.get("cache_n", 0))
        usage = LlmUsage(cached + timings.get("prompt_n", 0), timings.get("predicted_n", 0), cached)
    return LlmChunk(text, usage, reason) if text or reason is not None else None
