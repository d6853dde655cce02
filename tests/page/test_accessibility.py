"""axe finds nothing serious, in every state, in both colours, on a phone and on a desktop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Opener, Visit
from .test_refusals import SHOW

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
RUN = "() => axe.run(document, {resultTypes: ['violations']})"
STATES: tuple[dict[str, Any], ...] = (
    {"activity": "thinking"},
    {"activity": "ducked"},
    {"held": True, "activity": "held"},
    {"phase": "queued", "queue": {"position": 2, "length": 3, "estimatedWaitMs": 40_000}},
    {"phase": "reconnecting"},
    {"phase": "failed", "code": "microphone_denied"},
    {"phase": "ended", "endReason": "client_close"},
)


async def check(seen: Visit, where: str) -> None:
    await seen.page.wait_for_function(
        "() => document.getAnimations().every((a) => a.playState !== 'running' || a.effect.getTiming().iterations === Infinity)"
    )
    found = await seen.page.evaluate(RUN)
    bad = [
        f"{v['id']}: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}"
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert bad == [], where


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm install")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 800)])
async def test_axe_finds_nothing_serious(serve: Callable[..., str], visit: Opener, scheme: str, width: int, height: int) -> None:
    context = {"color_scheme": scheme, "viewport": {"width": width, "height": height}, "reduced_motion": "reduce", "bypass_csp": True}
    async with visit(serve() + "/", **context) as seen:
        await seen.page.add_script_tag(path=str(AXE))
        await check(seen, "before the call")
        await seen.call()
        await seen.page.get_by_role("textbox", name="Type a message").fill("Hello")
        await seen.page.keyboard.press("Enter")
        await seen.page.get_by_text("This is reply").wait_for()
        await check(seen, "speaking")
        await seen.page.get_by_role("button", name="Sound", exact=True).click()
        await check(seen, "sound settings")
        await seen.page.get_by_role("button", name="Events").click()
        await check(seen, "event log")
        await seen.page.keyboard.press("Escape")
        await seen.page.get_by_role("button", name="End", exact=True).click()
        await seen.page.get_by_role("button", name="Call again").wait_for()
        await check(seen, "after the call")
        await seen.page.get_by_role("tab", name="Status").click()
        await check(seen, "status")
        await seen.page.get_by_role("tab", name="Call").click()
        for state in STATES:
            await seen.page.evaluate(SHOW, state)
            await check(seen, str(state))
