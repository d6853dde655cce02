"""``/docs``: the API's description, readable without the internet and under the same strict policy as every page."""

from collections.abc import Callable

import pytest
from playwright.async_api import Browser, expect


@pytest.mark.parametrize("prefix", ["", "/some/demo"])
async def test_the_docs_need_nobody_else(prefix: str, serve: Callable[..., str], browser: Browser) -> None:
    address = serve("--root-path", prefix) if prefix else serve()
    page = await browser.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{address}{prefix}/docs")
    chat = page.locator("#operations-default-chat_completions_v1_chat_completions_post")
    await expect(chat).to_be_visible()
    await chat.locator(".opblock-summary").click()
    await expect(chat.get_by_text("text/event-stream").first).to_be_attached()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert complaints == []
    await page.close()
