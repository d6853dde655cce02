"""The loaded stages that all sessions share, each with the threads it runs on."""

import asyncio
import time
from dataclasses import dataclass, field

from omnitalk.media.audio import Samples
from omnitalk.media.vad import VadModel

from .asr import SpeechRecogniser, Transcript
from .llm import LanguageModel
from .tts import Synthesiser
from .turn import TurnModel
from .workers import WorkerPool

__all__ = ["Stages", "Timed"]

URGENT, USUAL = 0, 1


@dataclass(frozen=True)
class Timed:
    """A transcript and the ms that it took on its thread."""

    transcript: Transcript
    ms: float


@dataclass
class Stages:
    """One pool for each stage, so that none waits behind another's work."""

    vad: VadModel
    turn: TurnModel
    asr: SpeechRecogniser
    tts: Synthesiser
    llm: LanguageModel
    vad_pool: WorkerPool = field(default_factory=lambda: WorkerPool("vad"))
    turn_pool: WorkerPool = field(default_factory=lambda: WorkerPool("turn"))
    asr_pool: WorkerPool = field(default_factory=lambda: WorkerPool("asr"))
    tts_pool: WorkerPool = field(default_factory=lambda: WorkerPool("tts"))

    async def transcribe(self, key: str, samples: Samples) -> Timed:
        """The words in 16 kHz sound."""

        def work() -> Timed:
            begun = time.perf_counter()
            found = self.asr.transcribe(samples)
            return Timed(found, 1000.0 * (time.perf_counter() - begun))

        return await self.asr_pool.run(key, work)

    async def turn_over(self, key: str, samples: Samples) -> tuple[float, float]:
        """Probability that the turn is complete, and the ms that it took."""

        def work() -> tuple[float, float]:
            begun = time.perf_counter()
            probability = self.turn.probability(samples)
            return probability, 1000.0 * (time.perf_counter() - begun)

        return await self.turn_pool.run(key, work)

    async def say(self, key: str, text: str, speed: float, *, first: bool) -> Samples:
        """A clause as sound at the voice's rate. A reply's first clause goes before other calls' later ones."""
        return await self.tts_pool.run(key, lambda: self.tts.say(text, speed=speed), priority=URGENT if first else USUAL)

    async def stop(self) -> None:
        """End the threads and free the language model. Idempotent."""
        await self.llm.stop()
        for pool in (self.vad_pool, self.turn_pool, self.asr_pool, self.tts_pool):
            await asyncio.to_thread(pool.close)
