"""Calls without a person, many in one process of their own: a microphone that hums, a camera, and a stopwatch for what comes back.

``synthetic_calls`` starts that process (this module's ``__main__``) and ends it; what it measured is then in ``Calls.reports``.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import numpy as np

__all__ = ["LATE_MS", "Calls", "Report", "lateness_ms", "synthetic_calls"]

_PATIENCE_S = 60.0
LATE_MS = 40.0
"""What the page holds before it lets a reply sound: a piece that is later leaves a hole."""


@dataclass
class Report:
    """One call: pieces of sound that came, of ``piece_ms`` each, and how much later than the quickest each was, ms."""

    piece_ms: float
    lateness_ms: list[float]

    @property
    def missed(self) -> int:
        """Pieces that a page would have missed."""
        return sum(late > LATE_MS for late in self.lateness_ms)


@dataclass
class Calls:
    """``pid``: the process that makes them, None without any. ``reports``: filled when they are over."""

    pid: int | None = None
    reports: list[Report] = field(default_factory=list)


def lateness_ms(arrivals: list[tuple[float, float]]) -> list[float]:
    """From (arrived, place in the sound), both in seconds, to lateness against the quickest piece."""
    if not arrivals:
        return []
    offsets = np.array([arrived - place for arrived, place in arrivals])
    return [float(value) for value in 1000.0 * (offsets - offsets.min())]


@contextlib.asynccontextmanager
async def synthetic_calls(
    origin: str, way: str, count: int, *, offers: str | None = None, camera: bool = False, settle_s: float = 0.0
) -> AsyncIterator[Calls]:
    """``count`` calls to ``origin`` that are live inside the block. ``way``: ``websocket``, ``webrtc``, or ``aiortc`` (offers alone).

    ``settle_s``: what comes before is not reported.
    Raises ``RuntimeError`` with what the process said when they do not come about.
    """
    calls = Calls()
    if count <= 0:
        yield calls
        return
    offers = offers or f"{origin}/v1/realtime/calls?duplex=1"
    order = {"origin": origin, "way": way, "count": count, "offers": offers, "camera": camera, "settle_s": settle_s}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "omnitalk.bench.callers",
        json.dumps(order),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    assert process.stdin is not None and process.stdout is not None
    calls.pid = process.pid
    try:
        async with asyncio.timeout(_PATIENCE_S):
            if (await process.stdout.readline()).strip() != b"live":
                raise RuntimeError(f"{count} synthetic calls over {way} did not come about; see above.")
        yield calls
        process.stdin.close()
        async with asyncio.timeout(_PATIENCE_S):
            found = json.loads(await process.stdout.readline() or b"[]")
            calls.reports = [Report(each["piece_ms"], each["lateness_ms"]) for each in found]
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
