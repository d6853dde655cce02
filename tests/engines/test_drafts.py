"""A draft answer is adopted only when it answers exactly what was asked, and stops when it is dropped."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.cascade.draft import Draft
from omnitalk.engines.cascade.llm import ChatMessage, LlmChunk
from omnitalk.engines.cascade.options import ReplyOptions

OPTIONS = ReplyOptions(instructions=None, speaks=True, max_tokens=10)
MESSAGES: list[ChatMessage] = [{"role": "user", "content": "Hello."}]


class Seat:
    """A model whose words the test releases one by one."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | Exception] = asyncio.Queue()
        self.stopped = False

    async def stream(
        self, messages: list[ChatMessage], *, max_tokens: int, temperature: float | None, stop: tuple[str, ...] = ()
    ) -> AsyncGenerator[LlmChunk, None]:
        """Words until an empty one."""
        try:
            while word := await self.words.get():
                if isinstance(word, Exception):
                    raise word
                yield LlmChunk(word)
        finally:
            self.stopped = True

    async def prefill(self, messages: list[ChatMessage]) -> None:
        """Not asked for here."""
        raise AssertionError

    looked = False

    def look(self, jpeg: bytes) -> None:
        """No camera here."""

    def close(self) -> None:
        """Nothing held."""


async def test_words_written_before_and_after_adoption_come_in_order() -> None:
    seat = Seat()
    draft = Draft(seat, MESSAGES, OPTIONS)
    task = asyncio.create_task(draft.run())
    seat.words.put_nowait("one ")
    await asyncio.sleep(0)
    assert draft.fits(list(MESSAGES), OPTIONS)
    for word in ("two ", "three", ""):
        seat.words.put_nowait(word)
    assert "".join([chunk.text async for chunk in draft.chunks()]) == "one two three"
    await asyncio.wait({task})


async def test_another_question_does_not_fit() -> None:
    draft = Draft(Seat(), MESSAGES, OPTIONS)
    task = asyncio.create_task(draft.run())
    await asyncio.sleep(0)
    assert not draft.fits([*MESSAGES, {"role": "assistant", "content": "Hi."}], OPTIONS)
    assert not draft.fits(MESSAGES, OPTIONS._replace(max_tokens=11))
    draft.drop()
    assert not draft.fits(MESSAGES, OPTIONS)
    await asyncio.wait({task})


async def test_dropping_stops_the_model() -> None:
    seat = Seat()
    draft = Draft(seat, MESSAGES, OPTIONS)
    task = asyncio.create_task(draft.run())
    await asyncio.sleep(0)
    draft.drop()
    await asyncio.wait({task})
    assert seat.stopped


async def test_a_failure_reaches_whoever_reads() -> None:
    seat = Seat()
    draft = Draft(seat, MESSAGES, OPTIONS)
    task = asyncio.create_task(draft.run())
    seat.words.put_nowait(EngineError("engine_error", "out of memory", kind="server_error"))
    await task
    with pytest.raises(EngineError, match="out of memory"):
        _ = [chunk async for chunk in draft.chunks()]
