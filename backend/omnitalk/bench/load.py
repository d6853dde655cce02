"""Many calls at once on one server, without a model: what a call costs, and whether its sound keeps real time.

The server runs as ``omnitalk serve`` does, in a process of its own with the echo engine; synthetic callers with microphone and camera
come from another one. How late a piece of sound is counts against the quickest piece of its call, so the way itself is left out.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from .machine import Watch, cpu_s, describe, peak_rss_mb
from .synthetic import LATE_MS, Report, synthetic_calls

__all__ = ["Loaded", "main", "measure", "table"]

_NAMES = {"websocket": "WebSocket", "webrtc": "WebRTC"}
_SETTLE_S = 2.0
_PATIENCE_S = 60.0


@dataclass
class Loaded:
    """One condition. ``server_cores`` and ``caller_cores``: over the measured time. ``rss_mb``: the server's, at most so far."""

    way: str
    calls: int
    seconds: float
    server_cores: float
    caller_cores: float
    other_cores: float
    rss_mb: float
    reports: list[Report]

    @property
    def lateness_ms(self) -> list[float]:
        """Of all calls together."""
        return [late for report in self.reports for late in report.lateness_ms]

    @property
    def missed(self) -> int:
        """Pieces that a page would have missed, and those that never came."""
        lost = sum(max(0, int(0.98 * 1000 * self.seconds / report.piece_ms) - len(report.lateness_ms)) for report in self.reports)
        return sum(report.missed for report in self.reports) + lost


@asynccontextmanager
async def _serving(calls: int) -> AsyncIterator[tuple[str, int]]:
    """The address of a server that holds so many calls, and its process id. Raises ``RuntimeError`` when it does not start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["serve", "--engine", "echo", "--for-measuring", "--port", str(port), "--max-calls", str(calls), "--log-level", "warning"]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "omnitalk.cli", *command, stdout=asyncio.subprocess.DEVNULL)
    origin = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(_PATIENCE_S), httpx.AsyncClient(trust_env=False) as web:
            while True:
                if process.returncode is not None:
                    raise RuntimeError(f"The server ended with code {process.returncode}; see above.")
                try:
                    if (await web.get(f"{origin}/readyz")).status_code == 200:
                        break
                except httpx.TransportError:
                    pass  # not listening yet
                await asyncio.sleep(0.1)
        yield origin, process.pid
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(20):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _one(way: str, count: int, seconds: float, camera: bool) -> Loaded:
    async with _serving(count) as (origin, server):
        async with synthetic_calls(origin, way, count, camera=camera, settle_s=_SETTLE_S) as calls:
            assert calls.pid is not None
            await asyncio.sleep(_SETTLE_S)
            watch, began = Watch(), time.monotonic()
            before = cpu_s(server), cpu_s(calls.pid)
            await asyncio.sleep(seconds)
            lasted = time.monotonic() - began
            server_cores, caller_cores = ((cpu_s(pid) - then) / lasted for pid, then in zip((server, calls.pid), before, strict=True))
            other = max(0.0, watch.usage().other_cores - server_cores - caller_cores)
            rss = peak_rss_mb(server)
        return Loaded(way, count, seconds, server_cores, caller_cores, other, rss, calls.reports)


async def measure(*, ways: Sequence[str], counts: Sequence[int], seconds: float, camera: bool = True) -> list[Loaded]:
    """Every condition, each with a server of its own. Needs Linux: it reads ``/proc``."""
    return [await _one(way, count, seconds, camera) for way in ways for count in counts]


def table(found: Sequence[Loaded], seconds: float, camera: bool) -> str:
    """Markdown."""
    what = "microphone and a camera picture a second" if camera else "microphone"
    lines = [
        f"Machine: {describe()}. {seconds:g} s each, {what} from every caller, echo back. Callers ran on the same cores.",
        "",
        "| calls | CPU of the server, per call | server in all | callers | others | lateness, median / p95 / worst "
        f"| more than {LATE_MS:.0f} ms late or lost | server's memory |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in found:
        late = np.array(each.lateness_ms or [float("nan")])
        cores = f"{each.server_cores:.2f} cores | {each.caller_cores:.2f} | {each.other_cores:.2f}"
        quantiles = f"{np.median(late):.1f} / {np.percentile(late, 95):.1f} / {late.max():.0f} ms"
        lines.append(
            f"| {each.calls}, {_NAMES[each.way]} | **{100 * each.server_cores / each.calls:.1f} %** of a core | {cores} "
            f"| {quantiles} | {each.missed} of {len(each.lateness_ms)} | {each.rss_mb:.0f} MB |"
        )
    return "\n".join(lines) + "\n"


def main(*, ways: Sequence[str], counts: Sequence[int], seconds: float, camera: bool, output: Path | None) -> None:
    """Measures and prints a table. Ends with a sentence where the system has no ``/proc`` or calls do not come about."""
    if not os.path.exists("/proc/self/stat"):
        raise SystemExit("omnitalk: this measurement reads /proc, which this system does not have; run it on Linux.")
    try:
        text = table(asyncio.run(measure(ways=ways, counts=counts, seconds=seconds, camera=camera)), seconds, camera)
    except RuntimeError as problem:
        raise SystemExit(f"omnitalk: {problem}") from problem
    print(text)
    if output is not None:
        output.write_text(text)
