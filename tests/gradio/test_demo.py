"""The demo in a real browser: typed, recorded and shown questions, refusals in words, the embedded call; alone, and under a prefix."""

import base64
import io
import re
import socket
import subprocess
import sys
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from omnitalk.client.query import message_of
from PIL import Image
from playwright.async_api import Browser, Page, expect

from tests.page.conftest import browser, serve

__all__ = ["browser", "serve"]

pytestmark = pytest.mark.flaky(reruns=1)
"""One more try, which the report counts: Gradio's own page is not ours to make patient on a busy machine."""


def tone(seconds: float = 1.0) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes((np.sin(np.arange(int(16_000 * seconds)) / 5) * 9_000).astype("<i2").tobytes())
    return out.getvalue()


@asynccontextmanager
async def demo(browser: Browser, address: str) -> AsyncIterator[Page]:
    """The demo's page, which must ask nobody else for anything and complain of nothing."""
    context = await browser.new_context(permissions=["microphone"])
    page = await context.new_page()
    foreign: list[str] = []
    errors: list[str] = []
    own = (address.split("/gradio")[0], "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(own) else foreign.append(request.url))
    # The player of sound that gradio brings says this of a sound that is replaced before it was fetched.
    harmless = "signal is aborted without reason"
    page.on("pageerror", lambda error: None if str(error) == harmless else errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if "Security Policy" in message.text else None)
    await page.goto(address)
    await expect(page.get_by_placeholder("Write, record")).to_be_visible(timeout=30_000)
    yield page
    assert foreign == []
    assert errors == []
    await context.close()


async def ask(page: Page, text: str, file: dict[str, object] | None = None) -> None:
    if file is not None:
        await page.locator("input[type=file]").first.set_input_files(file)  # type: ignore[arg-type]
        await expect(page.get_by_text(str(file["name"])).first.or_(page.locator(".thumbnail-item").first)).to_be_visible()
    await page.get_by_placeholder("Write, record").fill(text)
    await page.get_by_placeholder("Write, record").press("Enter")


async def test_a_typed_question_is_answered_in_words_and_sound(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await expect(page.get_by_text("This is a test engine").first).to_be_visible()
        await ask(page, "Hello?")
        await expect(page.get_by_text("This test engine understands nothing; it was sent")).to_be_visible()
        await expect(page.locator("[data-testid=bot] audio, .message audio, .waveform-container, .audio-container").first).to_be_attached()
        await page.wait_for_function("window.omnitalkPlayed > 1")
        await ask(page, "And again?")
        await expect(page.get_by_text("This test engine understands nothing; it was sent")).to_have_count(2)


async def test_without_speech_there_is_none(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await page.get_by_label("Speak the answer").uncheck()
        await ask(page, "Hello?")
        await expect(page.get_by_text("This test engine understands nothing; it was sent")).to_be_visible()
        assert await page.evaluate("window.omnitalkPlayed ?? 0") == 0


async def test_a_recording_reaches_the_engine(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await ask(page, "What do you hear?", {"name": "question.wav", "mimeType": "audio/wav", "buffer": tone()})
        await expect(page.get_by_text("audio", exact=False).and_(page.get_by_text("it was sent", exact=False)).first).to_be_visible()


async def test_a_recording_made_in_the_page_reaches_the_engine(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        for step in ("Record audio", "Start recording", "Stop recording", "Attach audio"):
            await page.get_by_role("button", name=step).click()
            if step == "Start recording":
                await expect(page.get_by_text("0:01")).to_be_visible()
        await page.locator(".thumbnail-item").first.wait_for()
        await page.get_by_role("button", name="Submit").click()
        await expect(page.get_by_text("it was sent 1 audio")).to_be_visible()


async def test_a_question_that_was_refused_does_not_spoil_the_next(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await ask(page, "And this?", {"name": "question.wav", "mimeType": "audio/wav", "buffer": b"no sound at all"})
        await expect(page.get_by_text("Not answered")).to_be_visible()
        await ask(page, "And now?")
        await expect(page.get_by_text("it was sent 2 text.")).to_be_visible()


async def test_it_wears_the_colours_of_the_page_around_it(serve: Callable[..., str], browser: Browser) -> None:
    page = await browser.new_page(color_scheme="light")
    await page.goto(serve())
    await page.get_by_role("tab", name="Demo").click()
    inside = page.frame_locator("#demo iframe")
    await expect(inside.get_by_placeholder("Write, record")).to_be_visible(timeout=30_000)
    await inside.get_by_role("tab", name="Call").click()
    call = inside.locator("omnitalk-call")
    await expect(call).to_have_css("color-scheme", "light")
    await page.get_by_role("button", name="Colours").click()
    await page.get_by_role("button", name="Colours: light").click()
    await expect(call).to_have_css("color-scheme", "dark")
    await page.close()


async def test_a_file_that_is_no_sound_is_refused_in_words(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await ask(page, "And this?", {"name": "question.wav", "mimeType": "audio/wav", "buffer": b"no sound at all"})
        await expect(page.get_by_text("Not answered")).to_be_visible()


async def test_a_second_film_is_not_one_too_many(serve: Callable[..., str], browser: Browser, tmp_path: Path) -> None:
    """A request holds one film; of the conversation's the newest goes along."""
    film = base64.b64decode(message_of("use_video", None)["content"][0]["video_url"]["url"].partition(",")[2])
    async with demo(browser, f"{serve('--scripted-mode', 'qwen3')}/gradio/") as page:
        for number in (1, 2):
            await ask(page, "What happens?", {"name": f"film{number}.mp4", "mimeType": "video/mp4", "buffer": film})
            await expect(page.get_by_text(re.compile("it was sent .*1 video"))).to_have_count(number)


async def test_an_engine_without_chat_says_so_and_offers_the_call(serve: Callable[..., str], browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(f"{serve('--engine', 'echo', '--for-measuring')}/gradio/")
    await expect(page.get_by_text("holds calls only")).to_be_visible(timeout=30_000)
    await expect(page.get_by_placeholder("Write, record")).to_have_count(0)
    await page.get_by_role("tab", name="Call").click()
    await expect(page.get_by_role("button", name="Call", exact=True)).to_be_visible()
    await page.close()


async def test_the_call_is_held_within_the_demo(serve: Callable[..., str], browser: Browser) -> None:
    async with demo(browser, f"{serve()}/gradio/") as page:
        await page.get_by_role("tab", name="Call").click()
        await page.get_by_role("button", name="Call", exact=True).click()
        await expect(page.get_by_role("button", name="Hold")).to_be_enabled(timeout=15_000)
        await page.get_by_role("button", name="End", exact=True).click()


async def test_it_is_a_tab_of_the_page_and_works_under_a_prefix(serve: Callable[..., str], browser: Browser) -> None:
    address = serve("--root-path", "/some/demo")
    page = await browser.new_page()
    await page.goto(f"{address}/some/demo/")
    await page.get_by_role("tab", name="Demo").click()
    inside = page.frame_locator("#demo iframe")
    await expect(inside.get_by_placeholder("Write, record")).to_be_visible(timeout=30_000)
    await inside.get_by_placeholder("Write, record").fill("Hello?")
    await inside.get_by_placeholder("Write, record").press("Enter")
    await expect(inside.get_by_text("This test engine understands nothing; it was sent")).to_be_visible()
    await page.close()


async def test_where_it_is_off_the_page_has_no_tab_and_its_address_says_so(serve: Callable[..., str], browser: Browser) -> None:
    address = serve("--no-gradio")
    page = await browser.new_page()
    await page.goto(address)
    await page.get_by_role("button", name="Call", exact=True).wait_for()
    await expect(page.get_by_role("tab", name="Demo")).to_have_count(0)
    answer = await page.request.get(f"{address}/gradio/")
    assert answer.status == 404
    assert "--no-gradio" in (await answer.json())["error"]["message"]
    await page.close()


@pytest.fixture
def alone(serve: Callable[..., str], tmp_path: Path) -> Iterator[str]:
    """``omnitalk gradio`` beside a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "omnitalk.cli", "gradio", "--api-base", f"{serve()}/v1", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    yield f"http://127.0.0.1:{port}/"
    process.terminate()
    process.wait(20)


async def test_alone_it_talks_to_any_openai_compatible_server(alone: str, browser: Browser) -> None:
    page = await browser.new_page()
    for _ in range(100):
        try:
            await page.goto(alone)
            break
        except Exception:
            await page.wait_for_timeout(300)
    async with demo(browser, alone) as page:
        await expect(page.get_by_role("tab", name="Call")).to_have_count(0)
        await ask(page, "Hello?")
        await expect(page.get_by_text("This test engine understands nothing; it was sent")).to_be_visible()
        await page.wait_for_function("window.omnitalkPlayed > 1")


async def test_a_picture_reaches_an_engine_that_sees(serve: Callable[..., str], browser: Browser) -> None:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(out, "PNG")
    async with demo(browser, f"{serve('--scripted-mode', 'qwen3')}/gradio/") as page:
        await ask(page, "What is this?", {"name": "red.png", "mimeType": "image/png", "buffer": out.getvalue()})
        await expect(page.get_by_text("it was sent").first).to_contain_text("image")
        await ask(page, "And this?", {"name": "bad.png", "mimeType": "image/png", "buffer": b"\x89PNG no picture"})
        await expect(page.get_by_text("Not answered")).to_be_visible()
