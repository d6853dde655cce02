"""Drives an engine session the way a call does, for benchmarks and tests: a reader that collects, and a microphone."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from omnitalk.engines.base import Engine, EngineEvent, EngineSession, NearEnd
from omnitalk.media.audio import Samples, encode
from omnitalk.protocol import client, server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.session import SessionSettings

__all__ = ["Driver", "opened"]

E = TypeVar("E")
PATIENCE_S = 60.0


class Driver:
    """``events``: everything but voice-activity frames, in order; ``frames``: those. ``typed``: the engine takes typed text."""

    def __init__(self, session: EngineSession, *, typed: bool = True) -> None:
        self.session = session
        self._typed = typed
        self.events: list[EngineEvent] = []
        self.frames: list[NearEnd] = []
        self._changed = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for event in self.session.events():
            async with self._changed:
                if isinstance(event, NearEnd):
                    self.frames.append(event)
                else:
                    self.events.append(event)
                self._changed.notify_all()
        async with self._changed:
            self._changed.notify_all()

    async def until(self, found: Callable[[EngineEvent], bool], *, after: int = 0) -> int:
        """Index of the first event at or after ``after`` that is ``found``; waits for it."""
        seen = after
        async with asyncio.timeout(PATIENCE_S), self._changed:
            while True:
                for index in range(seen, len(self.events)):
                    if found(self.events[index]):
                        return index
                seen = len(self.events)
                assert not self._reader.done(), f"the session ended before that; last events: {self.types()[-12:]}"
                await self._changed.wait()

    async def until_type(self, kind: type[E], *, after: int = 0) -> int:
        """Index of the first event of this class at or after ``after``."""
        return await self.until(lambda event: isinstance(event, kind), after=after)

    async def until_heard(self, at_ms: float) -> None:
        """Wait until the engine has listened to so much sound."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: bool(self.frames) and self.frames[-1].at_ms >= at_ms)

    def all(self, kind: type[E], *, after: int = 0) -> list[E]:
        """The events of this class so far."""
        return [event for event in self.events[after:] if isinstance(event, kind)]

    def types(self, *, after: int = 0) -> list[str]:
        """Wire names (class names of signals) in order."""
        return [event.type if isinstance(event, ServerEvent) else type(event).__name__ for event in self.events[after:]]

    async def say(self, text: str) -> None:
        """Add a user text item."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        await self.session.submit(client.ConversationItemCreate(item=item))

    async def ask(self, text: str, **options: object) -> tuple[int, int]:
        """A turn and its response; indices of ``response.created`` and ``rate_limits.updated``."""
        start = len(self.events)
        await self.begin(text, **options)
        return await self.until_type(server.ResponseCreated, after=start), await self.until_type(server.RateLimitsUpdated, after=start)

    async def begin(self, text: str, **options: object) -> None:
        """A turn that will be answered: typed, or, to an engine that only listens, a second of something like speech and one of quiet."""
        if self._typed:
            await self.say(text)
            await self.session.submit(client.ResponseCreate(response=dict(options)))
            return
        noise = np.random.default_rng(len(text))
        for speech in (True, False):
            for _ in range(10):
                piece = noise.normal(0, 0.1 if speech else 0.0005, 1_600).astype(np.float32)
                await self.session.submit(client.InputAudioBufferAppend(audio=encode(piece, "pcm16"), is_speech=speech))
                await asyncio.sleep(0)

    async def hear(self, samples: Samples, rate: int = 16_000, *, encoding: str = "pcm16", pieces: Iterable[int] = ()) -> None:
        """The microphone, as fast as the engine takes it: 20 ms pieces, or of the sizes given (samples)."""
        sizes = iter(pieces)
        at = 0
        while at < samples.size:
            size = next(sizes, rate // 50)
            await self.session.submit(client.InputAudioBufferAppend(audio=encode(samples[at : at + size], encoding)))
            at += size
            await asyncio.sleep(0)

    async def silence(self, seconds: float, rate: int = 16_000) -> None:
        """Digital silence."""
        await self.hear(np.zeros(int(seconds * rate), np.float32), rate)

    async def settle(self) -> None:
        """Wait until the reader has taken what is there."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Close the session and see its events end."""
        await self.session.close("test_over")
        async with asyncio.timeout(PATIENCE_S):
            await self._reader


class opened:
    """``async with opened(engine, settings) as driver``."""

    def __init__(self, engine: Engine, settings: SessionSettings | None = None, name: str = "call_test") -> None:
        self._engine, self._settings, self._name = engine, settings or SessionSettings(), name

    async def __aenter__(self) -> Driver:
        session = await self._engine.open_session(self._name, self._settings)
        self._driver = Driver(session, typed=self._engine.capabilities.text_input)
        return self._driver

    async def __aexit__(self, *_: object) -> None:
        await self._driver.close()
