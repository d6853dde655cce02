"""Whatever refuses or fails is said in words."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Route, expect

from .conftest import Opener

SHOW = """async (state) => {
  const {problem} = await import('./shared_ui/core/problems.js');
  const call = document.querySelector('omnitalk-call');
  const error = state.code ? problem(state.code) : null;
  const usual = {phase: 'live', activity: 'listening', queue: null, muted: false, held: false, audioBlocked: false, startedAt: Date.now(),
    endedAt: null, endReason: null, transport: {kind: 'websocket', state: 'open', attempt: 0, retryInMs: null},
    microphone: null, speaker: null, context: null, notice: null};
  call.session = Object.assign(new EventTarget(), {
    state: {...usual, ...state, error}, transcript: [], events: [], levels: {mic: 0, speaker: 0}, end() {}});
  call.requestUpdate();
  await call.updateComplete;
  return error;
}"""
CODES = (
    "insecure_context", "browser_too_old", "no_microphone", "microphone_denied", "microphone_busy", "microphone_lost", "microphone_failed",
    "speaker_failed", "audio_blocked",
    "audio_failed", "engine_not_ready", "server_full", "server_draining", "server_unreachable",
    "connection_lost",
    "connection_not_resumed", "call_taken_over", "call_ended", "refused", "events_missed",
)  # fmt: skip


async def test_every_problem_is_said_with_its_title_and_sentence(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:
        for code in CODES:
            words = await seen.page.evaluate(SHOW, {"phase": "failed", "code": code})
            alert = seen.page.get_by_role("alert")
            await expect(alert).to_contain_text(words["title"])
            await expect(alert).to_contain_text(words["message"])


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"phase": "queued", "queue": {"position": 2, "length": 3, "estimatedWaitMs": 40_000}}, ("You are number 2 in line", "about 40 s")),
        ({"phase": "queued", "queue": {"position": 1, "length": 1, "estimatedWaitMs": None}}, ("You are next in line", "No estimate")),
        ({"phase": "reconnecting"}, ("Reconnecting", "The connection was lost")),
        ({"activity": "ducked"}, ("Speaking softly", "Did you want to say something?")),
        ({"muted": True}, ("Listening", "Your microphone is muted.")),
        ({"phase": "ended", "endReason": "idle_ttl_expired"}, ("Call ended", "Nothing was said for a long time")),
        ({"phase": "ended", "endReason": "never_heard_of"}, ("Call ended", "never heard of")),
    ],
)
async def test_every_state_is_said(serve: Callable[..., str], visit: Opener, state: dict[str, Any], words: tuple[str, str]) -> None:
    async with visit(serve() + "/") as seen:
        await seen.page.evaluate(SHOW, state)
        for each in words:
            await expect(seen.page.locator("omnitalk-call")).to_contain_text(each)


async def test_a_full_server_tells_the_place_in_line_and_then_answers(serve: Callable[..., str], visit: Opener) -> None:
    address = serve("--max-calls", "1") + "/"
    async with visit(address) as first, visit(address) as second:
        await first.call()
        await second.page.get_by_role("button", name="Call", exact=True).click()
        await expect(second.page.get_by_role("heading", name="You are next in line")).to_be_visible(timeout=10_000)
        await first.page.get_by_role("button", name="End", exact=True).click()
        await expect(second.page.get_by_role("button", name="Hold")).to_be_enabled(timeout=15_000)


async def test_a_loading_engine_shows_how_far_it_is(serve: Callable[..., str], visit: Opener) -> None:
    async with visit(serve() + "/") as seen:

        async def loading(route: Route) -> None:
            answer = await (await route.fetch()).json()
            answer["ready"] = {"ready": False, "stage": "loading the voice", "progress": 0.4, "problem": None}
            await route.fulfill(body=json.dumps(answer), content_type="application/json")

        await seen.page.route("**/config", loading)
        await seen.page.reload()
        await expect(seen.page.locator("omnitalk-call").get_by_text("Getting ready: loading the voice")).to_be_visible()
        await expect(seen.page.locator("omnitalk-call").get_by_role("progressbar")).to_have_js_property("value", 0.4)
        await expect(seen.page.get_by_role("button", name="Call", exact=True)).to_be_disabled()
        await seen.page.unroute("**/config")
        await expect(seen.page.get_by_role("button", name="Call", exact=True)).to_be_enabled()
