"""One start of the real engine for the whole run; the model is made here, tiny and random, its decisions come from a script."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from omnitalk.bench.checkpoint import build
from omnitalk.bench.scripted_draw import VARIABLE
from omnitalk.engines.base import Engine
from omnitalk.engines.omni import OmniEngine, OmniOptions

DEPLOY = Path(__file__).parent / "deploy.yaml"

WriteScript = Callable[..., None]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MiniCPM-o 4.5 folder."""
    return build(tmp_path_factory.mktemp("minicpm"))


@pytest.fixture(scope="session")
def script_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the stages read what to decide; it must be named before they start."""
    path = tmp_path_factory.mktemp("script") / "draw.json"
    os.environ[VARIABLE] = str(path)
    yield path
    del os.environ[VARIABLE]


@pytest_asyncio.fixture(scope="session")
async def omni(model: Path, script_file: Path) -> AsyncIterator[OmniEngine]:
    """The engine, started once."""
    found = OmniEngine(OmniOptions(model=str(model), deploy_config=str(DEPLOY)))
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
def engine(omni: OmniEngine, script: WriteScript) -> Engine:
    """The name under which the contract suite knows an engine."""
    return omni


@pytest.fixture
def script(script_file: Path) -> Iterator[WriteScript]:
    """``script(chunks=5)`` decides the turns that follow; the default comes back after the test."""

    def write(**settings: Any) -> None:
        script_file.write_text(json.dumps(settings))

    write(chunks=3)
    yield write
    write(chunks=3)


@pytest.fixture
def decisions(script_file: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What the model decided, unit by unit, since the test began: session, request, seq, speech, listen, prompt."""
    log = Path(f"{script_file}.log")
    start = log.stat().st_size if log.exists() else 0

    def read() -> list[dict[str, Any]]:
        if not log.exists():
            return []
        with log.open() as file:
            file.seek(start)
            return [json.loads(line) for line in file]

    yield read
