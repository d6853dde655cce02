"""Failures that really happen, from the browser or over the wire, are told to the person by a real session."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import async_playwright, expect

from .conftest import CHROMIUM, FLAGS, Opener
from .line import Line, listening

REFUSE = """name => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('refused by the test', name)); }"""


@pytest.mark.parametrize(
    ("thrown", "title"),
    [
        ("NotAllowedError", "The microphone is blocked"),
        ("NotFoundError", "No microphone found"),
        ("NotReadableError", "The microphone is in use"),
        ("TypeError", "The microphone did not start"),
    ],
)
async def test_a_microphone_that_the_browser_refuses(serve: Callable[..., str], visit: Opener, thrown: str, title: str) -> None:
    async with visit(serve() + "/") as seen:
        await seen.page.evaluate(REFUSE, thrown)
        await seen.page.get_by_role("button", name="Call", exact=True).click()
        await expect(seen.page.get_by_role("alert")).to_contain_text(title)
        await expect(seen.page.get_by_role("button", name="Try again")).to_be_enabled()
        assert seen.complaints == []


async def test_a_page_that_is_not_secure(serve: Callable[..., str]) -> None:
    """Plain http from another machine's name: browsers hide the microphone there."""
    address = serve()
    port = address.rpartition(":")[2]
    async with async_playwright() as playwright:
        flags = [*FLAGS, "--host-resolver-rules=MAP omnitalk.test 127.0.0.1"]
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = await chromium.new_page()
        await page.goto(f"http://omnitalk.test:{port}/")
        await expect(page.get_by_text("Open this page on https:// or localhost.")).to_be_visible()
        await page.get_by_role("button", name="Call", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("This page is not secure")
        await chromium.close()


async def refused(line: Line, code: str) -> None:
    """The server turns the call down."""
    await line.got("session.update")
    await line.say("error", error={"type": "server_error", "code": code, "message": f"A sentence about {code}."})


async def test_what_the_server_says_when_it_takes_no_call(serve: Callable[..., str], visit: Opener) -> None:
    async with listening() as line, visit(serve("--no-webrtc", "--public-realtime-url", line.url) + "/") as seen:
        line.answers = False
        for code, title in {
            "resource_exhausted": "All lines are busy",
            "server_draining": "The server is about to restart",
            "engine_not_ready": "The model is not ready yet",
            "something_new": "A sentence about something_new.",
        }.items():
            line.received.clear()
            await seen.page.reload()
            await seen.page.get_by_role("button", name="Call", exact=True).click()
            await refused(line, code)
            await expect(seen.page.get_by_role("alert")).to_contain_text(title)
            await expect(seen.page.get_by_role("heading", name="Not connected")).to_be_visible()
        assert seen.complaints == []


async def test_what_the_server_says_when_it_ends_a_call(serve: Callable[..., str], visit: Opener) -> None:
    async with listening() as line, visit(serve("--no-webrtc", "--public-realtime-url", line.url) + "/") as seen:
        endings: list[tuple[str, dict[str, Any], str]] = [
            ("session.closed", {"reason": "idle_ttl_expired"}, "Nothing was said for a long time"),
            ("session.closed", {"reason": "engine_error"}, "The model failed"),
            ("session.closed", {"reason": "server_shutdown"}, "about to restart"),
            ("session.replaced", {}, "This call goes on elsewhere"),
        ]
        for kind, fields, words in endings:
            await seen.page.reload()
            await seen.call()
            await line.say(kind, **fields)
            await expect(seen.page.get_by_role("alert")).to_contain_text(words)
            await expect(seen.page.get_by_role("heading", name="Call ended")).to_be_visible()
        assert seen.complaints == []


async def test_a_refusal_in_a_call_leaves_the_call_alive(serve: Callable[..., str], visit: Opener) -> None:
    async with listening() as line, visit(serve("--no-webrtc", "--public-realtime-url", line.url) + "/") as seen:
        await seen.call()
        await line.say(
            "error", error={"type": "invalid_request_error", "code": "nothing_to_commit", "message": "There is no sound to commit."}
        )
        await expect(seen.page.get_by_role("alert")).to_contain_text("There is no sound to commit.")
        await expect(seen.page.get_by_role("button", name="Hold")).to_be_enabled()


async def test_a_server_that_is_not_there(serve: Callable[..., str], visit: Opener) -> None:
    async with listening() as line:
        gone = line.url
    async with visit(serve("--no-webrtc", "--public-realtime-url", gone) + "/") as seen:
        await seen.page.get_by_role("button", name="Call", exact=True).click()
        # The page itself came from a server that answers.
        await expect(seen.page.get_by_role("alert")).to_contain_text("No call gets through")
        await seen.page.route("**/config", lambda route: route.abort())
        await seen.page.get_by_role("button", name="Try again").click()
        await expect(seen.page.get_by_role("alert")).to_contain_text("The server cannot be reached")


async def test_a_connection_that_does_not_come_back(serve: Callable[..., str], visit: Opener) -> None:
    async with listening() as line:
        address = serve("--no-webrtc", "--public-realtime-url", line.url, "--grace-s", "1") + "/"
        async with visit(address) as seen:
            await seen.call()
            line.close()
            await expect(seen.page.get_by_role("heading", name="Reconnecting")).to_be_visible()
            await expect(seen.page.get_by_role("alert")).to_contain_text("The connection was lost", timeout=15_000)
            await expect(seen.page.get_by_role("button", name="Call again")).to_be_visible()
