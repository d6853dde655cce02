"""The demo on the embedded engine: what is said in a recording is answered, aloud too; a picture is refused in a sentence."""

import io

import numpy as np
from omnitalk.gradio_tab.sound import wav
from PIL import Image
from playwright.sync_api import Page

from .support.browser import opened
from .support.server import Server
from .support.speech import say


def recording(text: str) -> bytes:
    return wav((np.clip(say(text), -1, 1) * 32_767).astype("<i2").tobytes(), 48_000)


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(out, "PNG")
    return out.getvalue()


def ask(page: Page, text: str, name: str = "", mime: str = "", data: bytes = b"") -> None:
    box = page.get_by_placeholder("Write, record")
    box.wait_for(timeout=40_000)
    if data:
        page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": mime, "buffer": data})
        page.locator(".thumbnail-item").first.wait_for()
    box.fill(text)
    box.press("Enter")


def test_a_recording_is_answered_in_words_and_sound(cascade_server: Server) -> None:
    with opened(f"{cascade_server.url}/gradio/", ear=False) as visitor:
        ask(visitor.page, "", "question.wav", "audio/wav", recording("What is the capital of France?"))
        visitor.page.get_by_text("Paris").first.wait_for(timeout=40_000)
        for _ in range(200):
            if visitor.page.evaluate("window.omnitalkPlayed ?? 0") > 0.3:
                break
            visitor.page.wait_for_timeout(50)
        else:
            raise AssertionError("nothing was heard")


def test_what_this_engine_does_not_take_is_said(cascade_server: Server) -> None:
    with opened(f"{cascade_server.url}/gradio/", ear=False) as visitor:
        visitor.page.get_by_text("it does not see").first.wait_for(timeout=40_000)
        accepted = visitor.page.locator("input[type=file]").first.get_attribute("accept") or ""
        assert "audio" in accepted
        assert "image" not in accepted, "a picture is not asked for where nobody sees"


def test_a_question_beside_a_call_is_told_why_it_waits(cascade_server: Server) -> None:
    with opened(cascade_server.url) as caller:
        caller.call()
        beside = caller.page.context.new_page()
        beside.goto(f"{cascade_server.url}/gradio/")
        ask(beside, "What is the capital of France?")
        beside.get_by_text("The model is busy with a call").wait_for(timeout=40_000)
