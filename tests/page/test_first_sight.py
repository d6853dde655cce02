"""What the page costs, that it asks nobody else, and that it works under a path prefix and in narrow windows."""

import urllib.request
from collections.abc import Callable

import pytest
from playwright.async_api import expect

from .conftest import Opener

BUDGET_BYTES = 150_000
OVER = """document.documentElement.scrollWidth - innerWidth
    + document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth"""
TRANSFERRED = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .reduce((sum, entry) => sum + entry.transferSize, 0)"""


async def test_it_is_small_quiet_and_asks_nobody_else(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        await seen.page.wait_for_load_state("networkidle")
        assert 0 < await seen.page.evaluate(TRANSFERRED) <= BUDGET_BYTES
        assert seen.complaints == []
        assert seen.foreign == []


async def test_a_call_works_under_a_path_prefix(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve("--root-path", "/some/demo") + "/some/demo/") as seen:
        await seen.call()
        assert (await seen.state())["phase"] == "live"
        assert seen.complaints == []
        assert seen.foreign == []


@pytest.mark.parametrize("width", [320, 360, 800, 1280])
async def test_nothing_hangs_over_the_edge(serve: Callable[..., str], visit: Opener, width: int) -> None:
    async with visit(serve() + "/", viewport={"width": width, "height": 640}) as seen:
        assert await seen.page.evaluate(OVER) == 0
        await seen.call()
        assert await seen.page.evaluate(OVER) == 0
        end = await seen.page.get_by_role("button", name="End", exact=True).bounding_box()
        assert end and end["y"] + end["height"] <= 640 and end["x"] + end["width"] <= width


def test_icons_and_manifest_are_there(serve: Callable[..., str]) -> None:
    for path in ("manifest.webmanifest", "icons/omnitalk.svg", "icons/omnitalk-192.png", "icons/omnitalk-512.png"):
        with urllib.request.urlopen(f"{serve()}/{path}") as answer:
            assert answer.status == 200 and answer.read()


async def test_colours_follow_the_button_and_are_remembered(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/", color_scheme="light") as seen:
        theme = seen.page.locator("#theme")
        await theme.click()
        await theme.click()
        await expect(theme).to_have_accessible_name("Colours: dark")
        await seen.page.reload()
        await expect(theme).to_have_accessible_name("Colours: dark")
        assert await seen.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


async def test_the_status_tab_says_what_answers(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        await seen.page.get_by_role("tab", name="Call").focus()
        await seen.page.keyboard.press("ArrowRight")
        await expect(seen.page.get_by_role("tab", name="Demo")).to_be_focused()
        await seen.page.keyboard.press("End")
        panel = seen.page.get_by_role("tabpanel", name="Status")
        await expect(panel).to_contain_text("Ready for calls")
        await expect(panel).to_contain_text("This is a test engine")


async def test_every_module_is_asked_for_at_once(serve: Callable[..., str], visit: Opener) -> None:
    """Imports are found one level at a time; the list in index.html saves those round trips, so it must be whole."""
    async with visit(serve() + "/") as seen:
        await seen.page.wait_for_load_state("networkidle")
        named = set(
            await seen.page.evaluate("[...document.querySelectorAll('link[rel=modulepreload], script[src]')].map((e) => e.href || e.src)")
        )
        loaded = await seen.page.evaluate(
            "performance.getEntriesByType('resource').map((e) => e.name)"
            ".filter((name) => name.endsWith('.js') && !name.includes('/profiles/'))"
        )
        assert named == set(loaded)
