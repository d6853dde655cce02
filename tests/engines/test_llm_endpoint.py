"""Any OpenAI-compatible endpoint as the language model, over a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.cascade.llm import LlmUsage
from omnitalk.engines.cascade.llm_http import HttpLlm

Answer = Callable[[dict[str, object], asyncio.StreamWriter], Awaitable[None]]
MESSAGES = [{"role": "user", "content": "Hello."}]


class Endpoint:
    """A server of one route. ``gone``: the client has closed the connection."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.headers = ""
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection."""
        self.headers = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split(":")[1]) for line in self.headers.splitlines() if line.lower().startswith("content-length"))
        try:
            await self._answer(json.loads(await reader.readexactly(length)), writer)
            await writer.drain()
        except ConnectionError:
            self.gone.set()
        finally:
            writer.close()


@asynccontextmanager
async def endpoint(answer: Answer) -> AsyncIterator[tuple[Endpoint, str]]:
    """The endpoint and its base URL, on a free port."""
    found = Endpoint(answer)
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    async with server:
        yield found, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def head(status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    """A response head without a length."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode()


def chunk(**fields: object) -> bytes:
    """One server-sent chunk."""
    return b"data: " + json.dumps({"object": "chat.completion.chunk", **fields}).encode() + b"\n\n"


def words(text: str, reason: str | None = None) -> bytes:
    """A chunk with text."""
    return chunk(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": reason}])


async def collect(llm: HttpLlm) -> tuple[str, LlmUsage | None, str | None]:
    """Text, usage and finish reason of one answer."""
    text, usage, reason = "", None, None
    async for part in llm.seat("call").stream(MESSAGES, max_tokens=20, temperature=0.5):
        text, usage, reason = text + part.text, part.usage or usage, part.finish_reason or reason
    return text, usage, reason


async def test_an_answer_streams() -> None:
    asked: dict[str, object] = {}

    async def answer(request: dict[str, object], writer: asyncio.StreamWriter) -> None:
        asked.update(request)
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
        text = words("Good ") + words("day.", "stop")
        writer.write(head() + b": hello\n\n" + text + chunk(choices=[], usage=usage) + b"data: [DONE]\n\n")

    async with endpoint(answer) as (served, url):
        llm = HttpLlm(url, model="tiny", api_key="key-1")
        try:
            await llm.start()
            assert await collect(llm) == ("Good day.", LlmUsage(9, 2, 4), "stop")
        finally:
            await llm.stop()
        assert (asked["model"], asked["messages"], asked["max_tokens"], asked["temperature"]) == ("tiny", MESSAGES, 20, 0.5)
        assert "Bearer key-1" in served.headers


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (head("404 Not Found", "application/json") + b'{"error": "no such model"}', "404"),
        (head() + b"data: {oops\n\n", "no chat completion chunk"),
        (head() + b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
        (head() + b"data: [1, 2]\n\n", "no chat completion chunk"),
    ],
)
async def test_what_goes_wrong_there_is_said_here(reply: bytes, says: str) -> None:
    async def answer(_: dict[str, object], writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    async with endpoint(answer) as (_, url):
        llm = HttpLlm(url, model="tiny")
        try:
            with pytest.raises(EngineError, match=says) as failed:
                await llm.start()
            assert failed.value.kind == "server_error"
        finally:
            await llm.stop()
        # The HTTP library's nested generators are closed by the loop, one a turn.
        for _ in range(100):
            await asyncio.sleep(0)


async def test_an_endpoint_that_is_not_there() -> None:
    async with endpoint(lambda *_: asyncio.sleep(0)) as (_, url):
        pass
    llm = HttpLlm(url, model="tiny")
    try:
        with pytest.raises(EngineError, match="cannot be reached"):
            await llm.start()
    finally:
        await llm.stop()


async def test_closing_the_answer_closes_the_connection() -> None:
    async def answer(_: dict[str, object], writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        while True:
            writer.write(words("on and on "))
            await writer.drain()
            await asyncio.sleep(0)

    async with endpoint(answer) as (served, url):
        llm = HttpLlm(url, model="tiny")
        try:
            stream = llm.seat("call").stream(MESSAGES, max_tokens=20, temperature=None)
            assert (await anext(stream)).text == "on and on "
            await stream.aclose()
            async with asyncio.timeout(10):
                await served.gone.wait()
        finally:
            await llm.stop()


async def test_the_newest_picture_goes_beside_the_newest_words_and_only_there() -> None:
    asked: list[list[dict[str, object]]] = []

    async def answer(request: dict[str, object], writer: asyncio.StreamWriter) -> None:
        messages = request["messages"]
        assert isinstance(messages, list)
        asked.append(messages)
        writer.write(head() + words("A cat.", "stop") + b"data: [DONE]\n\n")

    before = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    now = {"role": "user", "content": "What is this?"}
    async with endpoint(answer) as (_, url):
        llm = HttpLlm(url, model="tiny", sees=True)
        seat = llm.seat("call")
        try:
            for picture in (b"", b"old", b"new"):
                if picture:
                    seat.look(picture)
                if picture != b"old":
                    async for _part in seat.stream([*before, now], max_tokens=20, temperature=None):
                        assert seat.looked == bool(picture)
        finally:
            await llm.stop()
    assert asked[0] == [*before, now]
    assert asked[1][:2] == before
    assert asked[1][2]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,bmV3"}},
        {"type": "text", "text": "What is this?"},
    ]
