"""Whoever leaves gives the line back at once, however their path stands at that moment."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from playwright.async_api import Page

from .conftest import Opener

NOWHERE = "192.0.2.1"
"""RFC 5737: an address that nobody has. A call over it is opened, and no media ever gets through."""

SOON_S = 5.0
"""Much less than the 30 s that a call waits for a caller who may come back."""


async def live(address: str, wanted: int) -> bool:
    """Whether the server has so many calls within a moment."""
    async with httpx.AsyncClient() as http:
        for _ in range(int(SOON_S / 0.05)):
            if f"omnitalk_calls_live {wanted}" in (await http.get(f"{address}/metrics")).text:
                return True
            await asyncio.sleep(0.05)
    return False


async def end(page: Page) -> None:
    await page.get_by_role("button", name="End", exact=True).click()


async def cancel(page: Page) -> None:
    await page.get_by_role("button", name="Cancel", exact=True).click()


async def close_the_tab(page: Page) -> None:
    await page.close(run_before_unload=True)


@pytest.mark.parametrize("leave", [cancel, close_the_tab])
async def test_while_no_media_has_got_through(serve: Callable[..., str], visit: Opener, leave: Callable[[Page], Awaitable[None]]) -> None:
    address = serve("--webrtc-address", "127.0.0.1", "--public-address", NOWHERE)
    async with visit(f"{address}/?transport=webrtc") as seen:
        async with seen.page.expect_response(lambda answer: "/realtime/calls" in answer.url) as answered:
            await seen.page.get_by_role("button", name="Call", exact=True).click()
        await (await answered.value).finished()
        await seen.page.evaluate("new Promise(requestAnimationFrame)")  # the page has read it
        assert await live(address, 1)
        await leave(seen.page)
        assert await live(address, 0)


@pytest.mark.parametrize("path", ["webrtc", "websocket"])
async def test_by_closing_the_tab(serve: Callable[..., str], visit: Opener, path: str) -> None:
    address = serve()
    async with visit(f"{address}/?transport={path}") as seen:
        await seen.call()
        assert await live(address, 1)
        await close_the_tab(seen.page)
        assert await live(address, 0)


async def test_while_the_call_changes_its_path(serve: Callable[..., str], visit: Opener) -> None:
    """The server already listens to the path that is to come; a goodbye on the one before goes unheard."""
    address = serve("--webrtc-address", "127.0.0.1", "--public-address", NOWHERE)
    async with visit(address) as seen:
        await seen.call()
        assert (await seen.state())["transport"]["kind"] == "websocket"
        async with seen.page.expect_response(lambda answer: "resume=1" in answer.url):
            await seen.page.evaluate("window.dispatchEvent(new Event('online'))")
        await end(seen.page)
        assert await live(address, 0)
