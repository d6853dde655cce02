"""A whole call without a pointer."""

from collections.abc import Callable

from playwright.async_api import expect

from .conftest import Opener


async def test_a_call_by_keys_alone(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        page = seen.page
        await page.get_by_role("button", name="Call", exact=True).focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Hold")).to_be_enabled(timeout=15_000)
        await page.keyboard.press("m")
        await expect(page.get_by_role("button", name="Unmute")).to_have_attribute("aria-pressed", "true")
        assert (await seen.state())["muted"] is True
        await page.keyboard.press("h")
        await expect(page.get_by_role("heading", name="On hold")).to_be_visible()
        await page.keyboard.press("h")
        await expect(page.get_by_role("button", name="Hold")).to_be_enabled()

        await page.keyboard.press("t")
        await page.keyboard.type("hmm, mehl?")
        assert (await seen.state())["muted"] is True, "letters typed in a field are no shortcuts"
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("log")).to_contain_text("hmm, mehl?")
        await expect(page.get_by_role("log")).to_contain_text("This is reply", timeout=10_000)
        await page.get_by_role("button", name="Unmute").focus()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("log")).to_contain_text("interrupted")

        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("l")
        events = page.get_by_role("dialog", name="Event log")
        await events.get_by_role("searchbox").fill("session.created")
        await expect(events.get_by_role("status")).to_contain_text("1 of")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        await page.keyboard.press("e")
        await expect(page.get_by_role("heading", name="Call ended")).to_be_visible()
        await expect(page.get_by_role("button", name="Call again")).to_be_enabled()
        assert seen.complaints == []


async def test_manual_turns_by_holding_space(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        await seen.page.get_by_role("radio", name="You do").check()
        await seen.call()
        await expect(seen.page.get_by_role("button", name="Send turn")).to_be_enabled()
        await seen.page.locator("body").click(position={"x": 5, "y": 120})
        await seen.page.keyboard.down("Space")
        await seen.page.wait_for_timeout(600)  # the person speaks this long
        await seen.page.keyboard.up("Space")
        await expect(seen.page.get_by_role("log")).to_contain_text("This is reply", timeout=10_000)
