"""The browser that benchmarks drive."""

import os
import shutil
import time
from typing import Any, Final

__all__ = ["FLAGS", "clock_ahead_ms", "executable"]

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)
"""No sandbox because tests run as root in containers; nothing that would talk to the outside; a microphone without a person."""


def executable() -> str | None:
    """``$OMNITALK_CHROMIUM``, else the machine's Chromium; None leaves the choice to Playwright."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("OMNITALK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


async def clock_ahead_ms(page: Any) -> float:
    """By how much the page's epoch clock (``timeOrigin`` and ``now``) is ahead of ours, ms, to half of the quickest of twenty questions.

    A browser reads the machine's clock once and goes on by its own count; the two part by milliseconds within hours.
    """
    answers = []
    for _ in range(20):
        asked = time.time() * 1000.0
        theirs = float(await page.evaluate("performance.timeOrigin + performance.now()"))
        answered = time.time() * 1000.0
        answers.append((answered - asked, theirs - (asked + answered) / 2))
    return min(answers)[1]
