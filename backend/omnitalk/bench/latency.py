"""Mouth to ear without a model: a real page, the real server, an echo for an engine, beside what a user would pick instead, in one run.

The microphone is a stream that plays chirps. An ear in the page hears them where they begin and what goes to the loudspeaker, so the way
is measured inside the browser; the server's end notes when each sample reached it, which splits the way in two. What the operating
system's sound devices add at both ends is outside (``outputLatency`` says how much that is on a given machine), and so is what a browser
does to a real microphone's sound, such as echo cancellation, which would fight an echo.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from omnitalk.engines.echo import EchoEngine
from omnitalk.hub import Hub
from omnitalk.protocol.client import BargeIn

from .aiortc_echo import AiortcEcho
from .chirps import onsets_ms, pair_up, write_wav
from .chromium import FLAGS, clock_ahead_ms, executable
from .hearing import loudest
from .machine import Watch, describe
from .stacks import AIORTC_PATH, Heard, Stack, chosen
from .synthetic import synthetic_calls

__all__ = ["Measured", "main", "measure", "table"]

_PAGES = Path(__file__).parent / "pages"
_EAR, _MOUTH = (Path(__file__).parent / name for name in ("ear.js", "mouth.js"))
_LONGEST_MS = 1_250.0
_LEAD_S = 3.0
_LIVE_MS = 20_000


@dataclass
class Measured:
    """Of one stack, all starts together; ms. The first and the last chirp of each start are left out."""

    stack: Stack
    there_and_back: list[float] = field(default_factory=list)
    to_server: list[float] = field(default_factory=list)
    from_server: list[float] = field(default_factory=list)
    lost: int = 0
    held: list[float] = field(default_factory=list)
    missing: float = 0.0
    server_cores: float = 0.0
    other_cores: float = 0.0
    starts: int = 0


@dataclass
class _Rig:
    """Both servers, in one process, and the address of the pages."""

    origin: str
    engine: EchoEngine
    hub: Hub
    echo: AiortcEcho

    def sessions(self, stack: Stack) -> MutableMapping[Any, Any]:
        return self.echo.sessions if stack.theirs else self.engine.sessions

    def begin_anew(self, stack: Stack, key: Any) -> None:
        """An echo has no pauses: what it said while the way was not yet open would stay ahead of everything for the rest of the call."""
        runner = None if stack.theirs else self.hub.find(key)
        if runner is not None and (attachment := runner.call.attachment) is not None:
            runner.receive(attachment, BargeIn())

    async def hang_up(self, stack: Stack, key: Any) -> None:
        if stack.theirs:
            await self.echo.hang_up(key)
        elif (runner := self.hub.find(key)) is not None:
            await runner.end("client_close")


def _onsets(records: Sequence[dict[str, Any]], name: str) -> npt.NDArray[np.float64]:
    """Chirps in whichever context carries them, as epoch ms."""
    recording = loudest(records, name)
    return recording.wall_ms(onsets_ms(recording.samples, recording.rate))


def _reached(session: Heard, rate: int) -> npt.NDArray[np.float64]:
    """When the first sample of each chirp reached the server, epoch ms."""
    arrivals, found = list(session.arrivals), []
    for onset in onsets_ms(session.heard(), rate):
        place = int(onset * rate / 1000)
        piece = next((arrival for arrival in arrivals if arrival.start <= place < arrival.end), None)
        if piece is not None:
            found.append(piece.at_ms)
    return np.array(found)


async def _one_start(playwright: Any, rig: _Rig, seconds: float, into: Measured) -> None:
    stack, sessions = into.stack, rig.sessions(into.stack)
    flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required"]
    before = set(sessions)
    browser = await playwright.chromium.launch(executable_path=executable(), args=flags, ignore_default_args=["--mute-audio"])
    try:
        page = await (await browser.new_context(permissions=["microphone"], bypass_csp=True)).new_page()
        await page.add_init_script(path=_EAR)
        await page.add_init_script(path=_MOUTH)
        await page.goto(rig.origin + stack.path)
        await page.get_by_role("button", name="Call", exact=True).click()
        await page.wait_for_function(stack.live, timeout=_LIVE_MS)
        (key,) = set(sessions) - before
        session = sessions[key]
        rig.begin_anew(stack, key)
        session.keep_sound = True
        own, began = time.process_time(), time.monotonic()
        await asyncio.sleep(1.0)
        missing = float(await page.evaluate(stack.missing))
        await asyncio.sleep(seconds - 1.0)
        into.server_cores += (time.process_time() - own) / (time.monotonic() - began)
        reached = _reached(session, stack.rate) + await clock_ahead_ms(page)
        records = await page.evaluate("window.ear.read()")
        into.missing += float(await page.evaluate(stack.missing)) - missing
        if stack.holds:
            into.held.append(float(await page.evaluate(stack.holds)))
    finally:
        await browser.close()
        # A browser that is closed says no goodbye, and its call would go on beside the next one's.
        for key in set(sessions) - before:
            await rig.hang_up(stack, key)
    said, echoed = _onsets(records, "microphone")[1:-1], _onsets(records, "pcm")
    into.there_and_back += list(delays := pair_up(said, echoed, _LONGEST_MS))
    into.to_server += list(pair_up(said, reached, _LONGEST_MS))
    into.from_server += list(pair_up(reached[1:-1], echoed, _LONGEST_MS))
    into.lost += len(said) - len(delays)
    into.starts += 1


@contextlib.asynccontextmanager
async def _serving(chirps: Path) -> AsyncIterator[_Rig]:
    """Our server with the echo engine, the bench pages, and the aiortc echo beside it."""
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response
    from starlette.staticfiles import StaticFiles

    from omnitalk.api.app import create_app
    from omnitalk.api.state import state_of_app
    from omnitalk.server import listen, make_server
    from omnitalk.settings import ServeSettings

    engine, echo = EchoEngine(), AiortcEcho()

    async def call_aiortc(request: Request) -> Response:
        return Response(await echo.call((await request.body()).decode()), status_code=201, media_type="application/sdp")

    settings = ServeSettings(engine="echo", for_measuring=True, port=0)
    app = create_app(settings, engine)
    routes = app.router.routes
    ours = len(routes)
    app.add_route(AIORTC_PATH, call_aiortc, methods=["POST"])
    app.add_route("/bench/chirps.wav", lambda _: FileResponse(chirps))
    app.mount("/bench", StaticFiles(directory=_PAGES))
    routes[:] = routes[ours:] + routes[:ours]  # before the page's own catch-all
    server = make_server(settings, app)
    listener = listen("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield _Rig(f"http://127.0.0.1:{listener.getsockname()[1]}", engine, state_of_app(app).hub, echo)
    finally:
        await echo.close()
        server.should_exit = True
        await serving
        listener.close()


async def measure(*, starts: int, seconds: float, stacks: Sequence[Stack], concurrency: int = 1) -> list[Measured]:
    """Every stack ``starts`` times, by turns, so that the machine's moods fall on all alike. Needs the dev extra and a Chromium.

    ``concurrency``: calls at once, all but one synthetic and in another process.
    """
    from playwright.async_api import async_playwright

    found = [Measured(stack) for stack in stacks]
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "chirps.wav"
        write_wav(wav, seconds + _LEAD_S + 30, _LEAD_S)
        async with _serving(wav) as rig, async_playwright() as playwright:
            for _ in range(starts):
                for into in found:
                    offers = rig.origin + (AIORTC_PATH if into.stack.theirs else "/v1/realtime/calls?duplex=1")
                    async with synthetic_calls(rig.origin, into.stack.way, concurrency - 1, offers=offers):
                        watch = Watch()
                        await _one_start(playwright, rig, seconds, into)
                        into.other_cores += watch.usage().other_cores
    return found


def table(found: Sequence[Measured], starts: int, seconds: float, concurrency: int = 1) -> str:
    """Markdown."""
    calls = "" if concurrency == 1 else f" {concurrency} calls at once: the one measured, and synthetic ones from another process."
    lines = [
        f"Machine: {describe()}. {starts} starts of {seconds:g} s each, by turns, on loopback.{calls}",
        "",
        "| Stack | mouth → ear, median | p95 | mouth → server, median / p95 | server → ear, median / p95 "
        "| of it in the browser's jitter buffer | missing | chirps lost | CPU of server and rig, per call | browser and others |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in found:
        whole = each.there_and_back
        held = f"{np.median(each.held):.0f} ms" if each.held else ""
        lines.append(
            f"| {each.stack.name} | **{np.median(whole):.0f} ms** | {np.percentile(whole, 95):.0f} ms | {_both(each.to_server)} "
            f"| {_both(each.from_server)} | {held} | {each.missing:.0f} {each.stack.unit} | {each.lost} of {each.lost + len(whole)} "
            f"| {100 * each.server_cores / each.starts / concurrency:.1f} % of a core | {each.other_cores / each.starts:.2f} cores |"
        )
    medians = {each.stack.key: float(np.median(each.there_and_back)) for each in found}
    for ours, theirs in (("websocket", "upstream"), ("webrtc", "aiortc"), ("plain", "aiortc")):
        if ours in medians and theirs in medians:
            a, b = medians[ours], medians[theirs]
            names = {each.stack.key: each.stack.name for each in found}
            lines += ["", f"{names[ours]} takes {a / b:.2f} of the time of {names[theirs]}: {b - a:.0f} ms less."]
    return "\n".join(lines) + "\n"


def _both(values: Sequence[float]) -> str:
    return f"{np.median(values):.0f} / {np.percentile(values, 95):.0f} ms"


def main(*, starts: int, seconds: float, concurrency: int, stacks: Sequence[str], output: Path | None) -> None:
    """Measures and prints a table. Ends with a sentence for a stack that does not exist."""
    try:
        wanted = chosen(stacks)
    except ValueError as problem:
        raise SystemExit(f"omnitalk: {problem}") from problem
    found = asyncio.run(measure(starts=starts, seconds=seconds, stacks=wanted, concurrency=concurrency))
    text = table(found, starts, seconds, concurrency)
    print(text)
    if output is not None:
        output.write_text(text)
