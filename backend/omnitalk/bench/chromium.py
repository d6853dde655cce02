"""The browser that benchmarks drive."""

import os
import shutil
from typing import Final

__all__ = ["FLAGS", "executable"]

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
