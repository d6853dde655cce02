"""Every state that a person can see, in an order in which one page can pass through them."""

from collections.abc import AsyncIterator
from typing import Any

from playwright.async_api import expect

from .conftest import Visit
from .line import Line

ASKED = "What is the capital of France?"
ANSWERED = "The capital of France is Paris. It lies on the Seine, and some two million people live there."
LONG = "A reply in one-unbreakable-word-" + "x" * 60


async def heard(line: Line, item: str, words: str) -> None:
    """The person's turn and what was understood."""
    await line.say("input_audio_buffer.committed", item_id=item)
    await line.say("conversation.item.input_audio_transcription.completed", item_id=item, content_index=0, transcript=words)


async def reply(line: Line, number: int, words: str, *, cut_after: str | None = None, done: bool = True) -> None:
    """A reply's words; ``cut_after``: the part that was heard before the person talked over it."""
    response, item = f"resp_{number}", f"item_a{number}"
    await line.say("response.created", response={"id": response, "status": "in_progress"})
    await line.say("response.output_audio_transcript.delta", response_id=response, item_id=item, delta=words)
    if cut_after is not None:
        await line.say("output_audio_buffer.cleared", response_id=response)
        content = [{"type": "output_audio", "transcript": cut_after}]
        output = [{"id": item, "type": "message", "role": "assistant", "content": content}]
        await line.say("response.done", response={"id": response, "status": "cancelled", "output": output})
    elif done:
        await line.say("response.output_audio_transcript.done", response_id=response, item_id=item, transcript=words)
        await line.say("response.done", response={"id": response, "status": "completed", "output": []})


async def before(visit: Visit) -> AsyncIterator[str]:
    """What is seen before a call."""
    page = visit.page
    await page.get_by_role("button", name="Call", exact=True).wait_for()
    yield "ready"
    await page.get_by_label("Character").select_option(label="Your own")
    await page.get_by_label("Instructions").wait_for()
    await page.get_by_role("radio", name="You do").check()
    yield "settings"
    await page.get_by_label("Character").select_option(index=0)
    await page.get_by_role("radio", name="A pause").check()
    await page.get_by_role("button", name="Test microphone", exact=True).click()
    await page.get_by_text("You come through well.").wait_for()
    yield "microphone-test"
    await page.get_by_role("button", name="Stop test", exact=True).click()
    await page.get_by_role("button", name="Shortcuts", exact=True).click()
    await page.get_by_role("dialog", name="Keyboard").wait_for()
    yield "shortcuts"
    await page.keyboard.press("Escape")
    await page.get_by_role("tab", name="Status").click()
    await page.get_by_text("Ready for calls").wait_for()
    yield "status"
    await page.get_by_role("tab", name="Call").click()


async def during(visit: Visit, line: Line) -> AsyncIterator[str]:
    """A call, from the line to the goodbye."""
    page = visit.page

    async def shown(word: str) -> None:
        await page.get_by_role("heading", name=word, exact=True).wait_for()

    line.answers = False
    await page.get_by_role("button", name="Call", exact=True).click()
    await line.got("session.update")
    await shown("Connecting")
    yield "connecting"
    await line.say("omnitalk.queue", position=3, length=5, estimated_wait_ms=95_000)
    await shown("You are number 3 in line")
    yield "queued"
    await line.open()
    await expect(page.get_by_role("button", name="Hold", exact=True)).to_be_enabled()
    await line.say("omnitalk.state", state="listening")
    await shown("Listening")
    yield "listening"
    await line.say("omnitalk.state", state="hearing")
    await shown("Hearing you")
    yield "hearing"
    await heard(line, "item_u1", ASKED)
    await line.say("omnitalk.state", state="thinking")
    await shown("Thinking")
    yield "thinking"
    await reply(line, 1, ANSWERED, done=False)
    await line.say("omnitalk.state", state="speaking")
    await shown("Speaking")
    yield "speaking"
    await line.say("omnitalk.state", state="ducked")
    await shown("Speaking softly")
    yield "ducked"
    await reply(line, 1, "", cut_after="The capital of France is Paris.")
    await heard(line, "item_u2", "Wait. And of Italy?")
    await reply(line, 2, "That is Rome.")
    await heard(line, "item_u3", LONG)
    await line.say("omnitalk.state", state="listening")
    await page.get_by_text("interrupted").wait_for()
    yield "interrupted"
    await line.say("omnitalk.context", used_tokens=29_000, max_tokens=40_960, seconds_left=140)
    await line.say("omnitalk.notice", level="warning", code="context_low", message="The model will soon forget how this call began.")
    await page.get_by_text("soon forget").wait_for()
    yield "notice"
    await page.get_by_role("button", name="Mute", exact=True).click()
    await page.get_by_text("Your microphone is muted.").wait_for()
    yield "muted"
    await page.get_by_role("button", name="Unmute", exact=True).click()
    await page.get_by_role("button", name="Hold", exact=True).click()
    await shown("On hold")
    yield "held"
    await page.get_by_role("button", name="Resume", exact=True).click()
    await page.get_by_role("button", name="Sound", exact=True).click()
    yield "sound"
    await page.get_by_role("button", name="Sound", exact=True).click()
    await page.get_by_role("button", name="Events", exact=True).click()
    await page.get_by_role("dialog", name="Event log").wait_for()
    yield "events"
    await page.keyboard.press("Escape")
    line.cut()
    await shown("Reconnecting")
    yield "reconnecting"
    await page.get_by_role("button", name="End", exact=True).click()
    await shown("Call ended")
    yield "ended"


async def loading(visit: Visit, ready: dict[str, Any]) -> None:
    """From now on the server says this of its readiness."""

    async def answer(route: Any) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, json={**await response.json(), "ready": ready})

    await visit.page.route("**/config", answer)
    await visit.page.reload()
