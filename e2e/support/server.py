"""The real server as a person starts it: ``omnitalk serve`` in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx


def free_port() -> int:
    """A TCP port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A running server. ``log``: the file its output goes to."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(
    log: Path,
    *arguments: str,
    ready_within_s: float = 180,
    python: str = sys.executable,
    variables: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[Server]:
    """Starts ``omnitalk serve ARGUMENTS`` on a free port and waits for ``/readyz``; ends it gently afterwards."""
    port = free_port() if port is None else port
    command = [python, "-m", "omnitalk.cli", "serve", "--port", str(port), *arguments]
    environment = os.environ | {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "PYTHONUNBUFFERED": "1"} | dict(variables or {})
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_ready(f"http://127.0.0.1:{port}/readyz", process, log, ready_within_s)
        yield Server(port, process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _wait_ready(url: str, process: subprocess.Popen[bytes], log: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with code {process.returncode}:\n{log.read_text()[-3000:]}")
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"the server was not ready after {within_s} s:\n{log.read_text()[-3000:]}")
