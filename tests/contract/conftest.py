"""Engines under contract, each started once for the run, and speech to put to them."""

import asyncio
import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import soxr
from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.factory import make_engine
from omnitalk.media.audio import Samples
from omnitalk.settings import ServeSettings

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")


def _started(**settings: object) -> Engine:
    engine = make_engine(ServeSettings(**settings))  # type: ignore[arg-type]
    # Engines keep nothing of the loop they started in, so every test may have its own.
    asyncio.run(engine.start())
    return engine


@pytest.fixture(scope="session")
def cascade() -> Iterator[Engine]:
    """The embedded cascade with its real models."""
    try:
        engine = _started(engine="cascade")
    except EngineError as error:
        pytest.fail(f"{error} (the suite needs the default models: `omnitalk models fetch`)")
    yield engine
    asyncio.run(engine.stop())


@pytest.fixture(scope="session")
def scripted() -> Iterator[Engine]:
    """The scripted engine in its turn-taking mode."""
    engine = _started(engine="scripted", scripted_mode="turn")
    yield engine
    asyncio.run(engine.stop())


@pytest.fixture(params=["cascade", "scripted"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Every engine that keeps the contract."""
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def speak() -> Callable[[str], Samples]:
    """Text to 16 kHz speech without silence around it. The voice is the one that small recognisers understand best."""
    from hibari import Hibari

    voice = Hibari(threads=1)
    said: dict[str, Samples] = {}

    def say(text: str) -> Samples:
        if text not in said:
            sound = soxr.resample(voice(text, seed=1), 24_000, 16_000)
            loud = np.flatnonzero(np.abs(sound) > 0.01)
            said[text] = np.asarray(sound[loud[0] : loud[-1]], dtype=np.float32)
        return said[text]

    return say
