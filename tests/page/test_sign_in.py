"""A person at a guarded server: signs in with a key or a link, and calls over both paths."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from omnitalk.api.auth.keys import Keyring, add_key
from omnitalk.api.auth.tokens import sign
from playwright.async_api import Browser, expect

from .conftest import Opener


async def test_the_page_comes_in_where_its_cookie_does_not_go(serve: Callable[..., str], visit: Opener, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    add_key(file, "anna")
    calls = serve("--auth", str(file), "--no-webrtc", "--allow-origin", "*")
    public = calls.replace("http://127.0.0.1", "ws://localhost") + "/v1/realtime"
    page = serve("--auth", str(file), "--no-webrtc", "--public-realtime-url", public)
    token = sign(Keyring.read(file).secret, "link", "anna", time.time() + 60)
    async with visit(f"{page}/signin?token={token}") as seen:
        await seen.call()
        assert (await seen.state())["phase"] == "live"
        assert seen.complaints == []


@pytest.mark.parametrize("way", ["key", "link"])
async def test_a_person_signs_in_and_calls(serve: Callable[..., str], browser: Browser, tmp_path: Path, way: str) -> None:
    file = tmp_path / "keys"
    key = add_key(file, "anna")
    address = serve("--auth", str(file))
    context = await browser.new_context(permissions=["microphone"])
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    if way == "key":
        await page.goto(address)
        await expect(page).to_have_url(f"{address}/signin")
        await page.get_by_label("Key").fill("ot_wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("This key is not known here.")
        complaints.clear()  # the browser notes the 401
        await page.get_by_label("Key").fill(key)
        await page.get_by_role("button", name="Sign in").click()
    else:
        token = sign(Keyring.read(file).secret, "link", "anna", time.time() + 60)
        await page.goto(f"{address}/signin?token={token}")
    await expect(page).to_have_url(f"{address}/")
    for path in ("websocket", "webrtc"):
        await page.goto(f"{address}/?transport={path}")
        await page.get_by_role("button", name="Call", exact=True).click()
        await expect(page.get_by_role("button", name="Hold")).to_be_enabled(timeout=15_000)
        state = await page.evaluate("document.querySelector('omnitalk-call').session.state")
        assert (state["phase"], state["transport"]["kind"]) == ("live", path)
        await page.get_by_role("button", name="End", exact=True).click()
    assert complaints == []
    await context.close()
