"""A real server with the scripted engine, and Chromium on its page."""

import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from omnitalk.bench.chromium import executable
from playwright.async_api import Browser, Page, async_playwright, expect

CHROMIUM = executable()
FLAGS = ("--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")


@pytest.fixture(scope="package")
def serve() -> Iterator[Callable[..., str]]:
    """Starts a server with these further options and returns its address; every one is stopped at the end."""
    running: dict[tuple[str, ...], tuple[str, subprocess.Popen[bytes]]] = {}

    def start(*options: str) -> str:
        if options in running:
            return running[options][0]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "omnitalk.cli",
            "serve",
            "--engine",
            "scripted",
            "--port",
            str(port),
            "--log-level",
            "error",
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        address = f"http://127.0.0.1:{port}"
        running[options] = (address, process)
        wait_until_ready(address, process)
        return address

    yield start
    for _, process in running.values():
        process.terminate()
    for _, process in running.values():
        process.wait(timeout=20)


def wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    """Until ``/readyz`` says yes; fails when the server ends first."""
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except urllib.error.HTTPError as loading:
            loading.close()
        except OSError:
            process.poll()
    raise AssertionError(f"the server ended with {process.returncode}")


@dataclass
class Visit:
    """One page, and what its console complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    async def call(self) -> None:
        """Presses *Call* and waits until the call is live."""
        await self.page.get_by_role("button", name="Call", exact=True).click()
        await expect(self.page.get_by_role("button", name="Hold")).to_be_enabled(timeout=15_000)

    async def state(self) -> dict[str, Any]:
        """The session's state."""
        return dict(await self.page.evaluate("document.querySelector('omnitalk-call').session.state"))


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    """Chromium with a microphone that beeps."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        await chromium.close()


Opener = Callable[..., AbstractAsyncContextManager[Visit]]


@pytest.fixture
def visit(browser: Browser) -> Opener:
    """Opens an address in a context of its own."""

    @asynccontextmanager
    async def open_(address: str, **context: Any) -> AsyncIterator[Visit]:
        made = await browser.new_context(permissions=["microphone"], **context)
        page = await made.new_page()
        seen = Visit(page)
        page.on("console", lambda message: seen.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                seen.foreign.append(request.url) if not request.url.startswith((address.rstrip("/"), "data:", "blob:")) else None
            ),
        )
        await page.goto(address)
        await page.get_by_role("button", name="Call", exact=True).wait_for()
        yield seen
        await made.close()

    return open_
