"""One real server with the embedded engine for the whole run: starting it costs seconds, calls are independent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .support.server import Server, serving


@pytest.fixture(scope="session")
def cascade_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``omnitalk serve --engine cascade`` as a person starts it."""
    with serving(tmp_path_factory.mktemp("server") / "server.log", "--engine", "cascade") as server:
        yield server


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """Where a test writes what its microphone says."""
    return tmp_path / "microphone.wav"
