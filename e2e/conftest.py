"""One real server with the embedded engine for the whole run: starting it costs seconds, calls are independent."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .support.server import Server, serving

_GRACE_S = 60.0
"""Longer than the server keeps the line of somebody who left without a word."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """One more try, which the report counts: here speech, networks and pictures go by the wall clock, and a busy machine can be late."""
    item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``omnitalk serve --engine cascade`` as a person starts it."""
    with serving(tmp_path_factory.mktemp("server") / "server.log", "--engine", "cascade") as server:
        yield server


@pytest.fixture
def cascade_server(running_server: Server) -> Iterator[Server]:
    """The same for every test, with nobody on the line. A test that fails shows what the server had to say meanwhile."""
    before = running_server.log.stat().st_size
    deadline = time.monotonic() + _GRACE_S
    while "omnitalk_calls_live 0.0" not in httpx.get(f"{running_server.url}/metrics", timeout=10).text:
        assert time.monotonic() < deadline, f"a call that nobody is on has not ended:\n{running_server.log.read_text()[-5_000:]}"
        time.sleep(0.1)
    yield running_server
    with running_server.log.open() as log:
        log.seek(before)
        print(log.read()[-10_000:])


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """Where a test writes what its microphone says."""
    return tmp_path / "microphone.wav"
