"""Each profile drives the engine that speaks its vocabulary."""

import io
import wave
from collections.abc import Callable
from typing import Any

from playwright.async_api import FilePayload, expect

from .conftest import Opener, Visit

LISTEN = """async ({reason, sounding}) => {
  const {createProfile} = await import('./profiles/minicpm-native/profile.js');
  const {profiles} = await (await fetch('config')).json();
  const flushed = [];
  const session = {isSounding: (id) => id === sounding, flush: (id) => flushed.push(id)};
  createProfile(profiles.find((each) => each.id === 'minicpm-native'))
    .onServerEvent({type: 'response.listen', response_id: 'resp_1', response: {metadata: {reason}}}, session);
  return flushed;
}"""


def voice() -> FilePayload:
    """A silent WAV of three seconds, as a file that a person chooses."""
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(16_000)
        wav.writeframes(bytes(3 * 32_000))
    return {"name": "voice.wav", "mimeType": "audio/wav", "buffer": file.getvalue()}


async def first_update(seen: Visit) -> dict[str, Any]:
    """The settings that the page asked for."""
    return dict(
        await seen.page.evaluate(
            "document.querySelector('omnitalk-call').session.events.find((e) => e.type === 'session.update').event.session"
        )
    )


async def test_minicpm_asks_for_a_voice_and_streams_without_turns(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve("--scripted-mode", "minicpm") + "/") as seen:
        await seen.page.get_by_role("button", name="Call", exact=True).click()
        await expect(seen.page.get_by_role("alert")).to_contain_text("needs a reference voice")
        await seen.page.get_by_label("Reference voice").set_input_files(voice())
        await seen.call()
        asked = await first_update(seen)
        assert asked["extra_body"]["auto_response"] is True
        assert asked["ref_audio"].startswith("data:audio/wav;base64,")
        assert asked["turn_detection"] is None
        await seen.page.wait_for_timeout(1_500)  # the person speaks this long, more than a unit; then the model hears a pause
        await seen.page.keyboard.press("m")
        await expect(seen.page.get_by_role("heading", name="Speaking")).to_be_visible(timeout=15_000)
        await seen.page.keyboard.press("Escape")
        await expect(seen.page.get_by_role("log")).to_contain_text("interrupted")
        sent = await seen.page.evaluate(
            "document.querySelector('omnitalk-call').session.events.filter((e) => e.direction === 'out').map((e) => e.type)"
        )
        assert not {"input_audio_buffer.commit", "response.create"} & set(sent)
        assert await seen.page.get_by_role("textbox", name="Type a message").count() == 0, "this model takes no typed text"


async def test_minicpm_falls_silent_when_the_model_takes_itself_back_but_not_at_the_end_of_a_turn(
    serve: Callable[..., str], visit: Opener
) -> None:
    async with visit(serve("--scripted-mode", "minicpm") + "/") as seen:

        async def flushed(reason: str, sounding: str = "resp_1") -> list[str]:
            return list(await seen.page.evaluate(LISTEN, {"reason": reason, "sounding": sounding}))

        assert await flushed("model_listen") == ["resp_1"]
        assert await flushed("model_listen", sounding="resp_2") == []
        for reason in ("auto_response_segment_complete", "continuation_limit", "model_turn_completed_without_output"):
            assert await flushed(reason) == []


async def test_qwen3_takes_both_kinds_of_turn(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve("--scripted-mode", "qwen3") + "/") as seen:
        await seen.call()
        asked = await first_update(seen)
        assert (asked["turn_detection"]["type"], asked["overlap_policy"]) == ("server_vad", "barge_in_on_speech")
        assert "extra_body" not in asked and "ref_audio" not in asked
        await seen.page.get_by_role("button", name="End", exact=True).click()
        await seen.page.get_by_role("button", name="Change settings").click()
        await seen.page.get_by_role("radio", name="You do").check()
        await seen.call()
        asked = await first_update(seen)
        assert (asked["turn_detection"], asked["overlap_policy"]) == (None, "listen_only")
        await seen.page.get_by_role("textbox", name="Type a message").fill("Hello")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.get_by_role("log")).to_contain_text("reply", timeout=10_000)


CAMERA = """document.querySelector('omnitalk-call').session"""


async def shown(seen: Visit, pictures: int) -> None:
    """Turns the camera on and waits until the model was given this many pictures."""
    await seen.page.get_by_role("button", name="Camera", exact=True).click()
    await expect(seen.page.get_by_label("Your camera", exact=True)).to_be_visible()
    await expect(seen.page.get_by_alt_text("The last picture that the model was given")).to_be_visible(timeout=15_000)
    await seen.page.evaluate(
        f"""async (wanted) => {{
          const session = {CAMERA};
          let given = 1;
          await new Promise((resolve) => session.addEventListener('picture', () => ++given >= wanted && resolve()));
        }}""",
        pictures,
    )


async def refusals(seen: Visit) -> list[str]:
    """What the server refused so far."""
    found = await seen.page.evaluate(f"{CAMERA}.events.filter((e) => e.type === 'error').map((e) => e.event.error.message)")
    return list(found)


async def test_minicpm_is_shown_the_camera_on_the_sound(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve("--scripted-mode", "minicpm") + "/") as seen:
        await seen.page.get_by_label("Reference voice").set_input_files(voice())
        await seen.call()
        await shown(seen, 3)
        assert (await seen.page.evaluate(f"{CAMERA}.stats()"))["picturesSent"] >= 2
        assert await refusals(seen) == []
        await seen.page.get_by_role("button", name="Stop showing").click()
        await expect(seen.page.get_by_label("Your camera", exact=True)).to_have_count(0)


async def test_qwen_is_shown_the_camera_as_items_and_keeps_the_newest(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve("--scripted-mode", "qwen3") + "/") as seen:
        await seen.call()
        await shown(seen, 10)
        kinds = await seen.page.evaluate(f"{CAMERA}.events.map((e) => e.type)")
        assert kinds.count("conversation.item.deleted") >= 1
        assert await refusals(seen) == []


async def test_an_engine_that_does_not_see_has_no_camera_button(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        await seen.call()
        await expect(seen.page.get_by_role("button", name="Camera", exact=True)).to_have_count(0)
