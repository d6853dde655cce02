"""An answer that nobody waits for any more is neither made nor heard."""

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.page.conftest import browser

__all__ = ["browser"]

PATIENCE_S = 60.0


@dataclass
class Server:
    """Its address, and what its engine tells."""

    address: str
    process: Process

    async def told(self) -> list[str]:
        """The engine's next words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self.process.stdout.readline()).decode().split()


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.gradio.long_answers", str(port), stdout=PIPE)
    address = f"http://127.0.0.1:{port}"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
    yield Server(f"{address}/gradio/", process)
    process.terminate()
    await process.communicate()


async def ask(page: Page, text: str) -> None:
    box = page.get_by_placeholder("Write, record")
    await box.fill(text, timeout=40_000)
    await box.press("Enter")


async def sounding(page: Page) -> None:
    await page.wait_for_function("window.omnitalkAhead() > 2")


async def test_stop_silences_and_the_talk_goes_on(server: Server, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(server.address)
    await ask(page, "First?")
    assert (await server.told())[0] == "began"
    await sounding(page)
    await page.locator(".stop-button").click()
    assert await server.told() == ["ended"]
    assert await page.evaluate("window.omnitalkAhead()") == 0
    await ask(page, "Second?")
    # What had been said when it was stopped was said.
    assert await server.told() == ["began", "user:First?", "assistant:word", "word", "word", "word", "user:Second?"]
    await expect(page.get_by_text("Second?")).to_be_visible()
    await sounding(page)
    await page.close()
    assert await server.told() == ["ended"]


async def test_a_new_conversation_begins_in_silence(server: Server, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(server.address)
    await ask(page, "First?")
    await server.told()
    await sounding(page)
    await page.get_by_role("button", name="New conversation").click()
    assert await server.told() == ["ended"]
    await page.wait_for_function("window.omnitalkAhead() === 0")
    await expect(page.get_by_text("First?")).to_have_count(0)
    await ask(page, "Another?")
    assert await server.told() == ["began", "user:Another?"]
    await sounding(page)
    await page.get_by_role("button", name="Silence").click()
    assert await page.evaluate("window.omnitalkAhead()") == 0
    await page.close()
