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
