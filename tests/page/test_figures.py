"""The drawer of figures during a call: numbers, a picture of who spoke when, and both as a file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from .conftest import Opener


@pytest.mark.parametrize("path", ["websocket", "webrtc"])
async def test_figures_are_read_while_the_call_goes_on(serve: Callable[..., str], visit: Opener, path: str, tmp_path: Path) -> None:
    async with visit(f"{serve()}/?transport={path}") as seen:
        await seen.call()
        # The microphone beeps without pause; a typed question gets an answer all the same.
        await seen.page.get_by_role("textbox", name="Type a message").fill("hello")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.get_by_role("heading", name="Speaking")).to_be_visible()
        await seen.page.get_by_role("button", name="Figures").click()
        drawer = seen.page.get_by_role("dialog", name="Figures")
        name = {"websocket": "WebSocket", "webrtc": "WebRTC"}[path]
        await expect(drawer).to_contain_text(f"This call goes over {name}: as chosen.")
        await expect(drawer.locator("[data-figure=rttMs]")).to_contain_text(" ms")
        await expect(drawer.locator("[data-figure=outKbps]")).to_contain_text("kbit/s")
        missing = "lossPercent" if path == "websocket" else "underruns"
        await expect(drawer.locator(f"[data-figure={missing}]")).to_have_text("not available")
        await expect(drawer.locator("svg rect.model")).not_to_have_count(0)
        await expect(drawer.locator("svg rect.you")).not_to_have_count(0)
        async with seen.page.expect_download() as download:
            await drawer.get_by_role("button", name="Export JSON").click()
        file = tmp_path / "call.json"
        await (await download.value).save_as(file)
        kept = json.loads(file.read_text())
        assert kept["figures"]["path"] == path
        assert kept["timeline"]["model"][0]["from"] > 0
        await seen.page.keyboard.press("Escape")
        assert seen.complaints == []
