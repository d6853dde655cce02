"""Who answers the demo: the engine in this process, or any OpenAI-compatible server. Both take OpenAI's body and give pieces."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol, cast

import msgspec
import structlog
from starlette.concurrency import iterate_in_threadpool

from omnitalk.api.completions.reading import Reader
from omnitalk.client.completions import Refused, Said, ask
from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.chat import ChatEngine
from omnitalk.protocol.errors import ProtocolError

__all__ = ["About", "Answers", "InProcess", "Preset", "Remote"]

log = structlog.get_logger("omnitalk.gradio")


class About(NamedTuple):
    """What the demo may offer. ``sees`` and ``voices`` of a server whose engine is unknown: everything may be tried."""

    model: str
    honest: str
    sees: bool = True
    voices: tuple[str, ...] = ()
    takes_voice: bool = False
    problem: str = ""


class Preset(NamedTuple):
    """Instructions a person can pick."""

    title: str
    instructions: str


class Answers(Protocol):
    """One side of the demo."""

    def about(self) -> About:
        """As it is now."""
        ...

    def answer(self, body: dict[str, Any]) -> AsyncIterator[tuple[str, bytes]]:
        """Words and PCM16 (24 kHz, mono) as they come. Raises ``Refused`` with a sentence."""
        ...


class InProcess:
    """The engine of this server; no second hop over HTTP."""

    def __init__(self, engine: Engine, reader: Reader, takes_voice: bool) -> None:
        self._engine, self._reader, self._takes_voice = engine, reader, takes_voice

    def about(self) -> About:
        """From the engine's capabilities."""
        can = self._engine.capabilities
        problem = "" if can.chat else f"The engine {can.name} holds calls only; it does not answer chat."
        return About(can.model, can.honest, can.sees, can.voices, self._takes_voice, problem)

    async def answer(self, body: dict[str, Any]) -> AsyncIterator[tuple[str, bytes]]:
        """Through the same reading and the same rules as ``POST v1/chat/completions``."""
        if not self._engine.capabilities.chat:
            raise Refused(self.about().problem)
        engine = cast(ChatEngine, self._engine)
        try:
            engine.check_room()
            # Off the loop, which carries calls: files may lie in it.
            data = await asyncio.to_thread(msgspec.json.encode, body)
            asked, _ = await self._reader.read(data, self._engine.capabilities, vllm=False)
            deltas = engine.chat(asked)
            async with aclosing(cast(Any, deltas)):
                async for delta in deltas:
                    if delta.text or delta.audio:
                        yield delta.text, delta.audio
        except (EngineError, ProtocolError) as problem:
            raise Refused(problem.message) from problem
        except Exception as problem:
            log.exception("chat_failed")
            raise Refused("The model failed to answer; the server's log says why.") from problem


class Remote:
    """A server at ``api_base`` (ends with ``/v1``)."""

    def __init__(self, api_base: str, model: str, key: str) -> None:
        self._api_base, self._model, self._key = api_base, model, key

    def about(self) -> About:
        """What a stranger can say."""
        return About(self._model, f"Answers come from {self._api_base}. What it does not take, it says.", takes_voice=True)

    async def answer(self, body: dict[str, Any]) -> AsyncIterator[tuple[str, bytes]]:
        """Over HTTP, streamed."""
        pieces = cast(Generator[Said, None, None], ask(self._api_base, self._key, body))
        try:
            async for said in iterate_in_threadpool(pieces):
                if said.text or said.pcm:
                    yield said.text, said.pcm
        finally:
            # Hangs up on a server whose answer nobody waits for any more.
            pieces.close()
