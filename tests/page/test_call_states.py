"""A real call passes through every state that a server can put it in: axe finds nothing serious in any, none is wider than its window."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
from playwright.async_api import Page, Route

from . import scenes
from .conftest import Opener
from .line import listening
from .test_accessibility import AXE, RUN

SETTLED = """Promise.race([
  Promise.all(document.getAnimations({subtree: true}).filter(a => a instanceof CSSTransition).map(a => a.finished)),
  new Promise(done => setTimeout(done, 1000)),
])"""
EXCESS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ROUND = """(() => {
  const orb = document.querySelector('omnitalk-call').shadowRoot.querySelector('omnitalk-orb').getBoundingClientRect();
  return Math.abs(orb.width - orb.height);
})()"""


OUTSIDE = """(() => {
  const inside = document.querySelector('omnitalk-call').shadowRoot.querySelectorAll('.controls button');
  return [...inside].filter(button => {
    const {top, bottom, left, right} = button.getBoundingClientRect();
    return bottom > innerHeight || top < 0 || right > innerWidth || left < 0;
  }).map(button => button.innerText || button.ariaLabel);
})()"""


async def faults(page: Page) -> list[str]:
    """What is wrong with what is shown now."""
    await page.evaluate(SETTLED)  # a fade that is under way would be measured as faint text
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(await asyncio.to_thread(AXE.read_text))
    violations: list[dict[str, Any]] = (await page.evaluate(RUN))["violations"]
    found = [
        f"{fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in violations
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    if (excess := await page.evaluate(EXCESS)) > 0:
        found.append(f"{excess} px too wide")
    if (off := await page.evaluate(ROUND)) > 1:
        found.append(f"the orb is {off} px from round")
    found += [f"the button {name!r} is out of the window" for name in await page.evaluate(OUTSIDE)]
    return found


async def farewell(goodbyes: list[str], route: Route) -> None:
    """Answers a hang-up as the server that has the call would: here the call is the line's, and the page's server knows of none."""
    goodbyes.append(route.request.method)
    await route.fulfill(status=200)


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(320, 568, "light"), (360, 740, "light"), (360, 740, "dark"), (820, 1100, "light"), (1280, 800, "light"), (1280, 800, "dark")],
)
async def test_every_state_of_a_real_call(
    serve: Callable[..., str], visit: Opener, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    async with listening() as line:
        address = serve("--no-webrtc", "--public-realtime-url", line.url) + "/"
        async with visit(address, viewport={"width": width, "height": height}, color_scheme=scheme) as seen:
            goodbyes: list[str] = []
            await seen.page.route("**/calls/*/hangup", partial(farewell, goodbyes))
            found = {state: await faults(seen.page) async for state in scenes.before(seen)}
            found |= {state: await faults(seen.page) async for state in scenes.during(seen, line)}
            assert {state: what for state, what in found.items() if what} == {}
            assert len(found) == 20
            assert goodbyes == ["POST"]  # it ends while the line is cut, and no socket could carry the goodbye
            assert seen.complaints == []


@pytest.mark.parametrize("width", [320, 640, 820, 890, 1100, 1500])
async def test_the_most_buttons_at_once_fit_beside_the_conversation(serve: Callable[..., str], visit: Opener, width: int) -> None:
    async with visit(serve() + "/", viewport={"width": width, "height": 740}) as seen:
        await seen.page.get_by_role("radio", name="You do").check()
        await seen.call()
        assert await seen.page.evaluate(OUTSIDE) == []
        log = await seen.page.get_by_role("log").bounding_box()
        end = await seen.page.get_by_role("button", name="End", exact=True).bounding_box()
        assert log and end
        assert end["x"] + end["width"] <= log["x"] or log["y"] + log["height"] <= end["y"], "the buttons lie on the conversation"
