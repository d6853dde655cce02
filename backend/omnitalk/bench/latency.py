"""Mouth to ear without a model: a real page, the real server, an echo for an engine, beside what a user would pick instead, in one run.

The microphone plays chirps. An ear in the page hears both what the microphone brings and what goes to the loudspeaker, so the way is
measured on the browser's own audio clock; the engine notes when each sample reached it, which splits the way in two. What the operating
system's sound devices add at both ends is outside (``outputLatency`` says how much that is on a given machine).
"""

import asyncio
import base64
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from omnitalk.engines.echo import Arrival, EchoEngine

from .chirps import onsets_ms, pair_up, write_wav
from .chromium import FLAGS, executable
from .machine import Watch, describe

__all__ = ["STACKS", "Measured", "Stack", "main", "measure"]

_PAGES = Path(__file__).parent / "pages"
_EAR = Path(__file__).parent / "ear.js"
_LONGEST_MS = 1_250.0
_LEAD_S = 3.0
_SAMPLE_RATE = 16_000

# Echo cancellation would, rightly, fight an echo; the other two would bend the chirps. None of them is in the way that is measured.
_PLAIN_MICROPHONE = """
  const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
  devices.getUserMedia = (wanted) => open({ ...wanted, audio: { ...(wanted.audio === true ? {} : wanted.audio),
    echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
"""


class Stack(NamedTuple):
    """One way of carrying a call. ``live``: JavaScript that is true once it carries; ``underruns``: how often the loudspeaker ran dry."""

    name: str
    path: str
    live: str
    underruns: str


STACKS: Final = (
    Stack(
        "Omnitalk, WebSocket",
        "/",
        "document.querySelector('omnitalk-call')?.session?.state.phase === 'live'",
        "document.querySelector('omnitalk-call').session.stats().then((stats) => stats.underruns)",
    ),
    Stack("page that sends every 200 ms and holds 400 ms", "/bench/upstream.html", "window.live === true", "window.underruns"),
)


@dataclass
class Measured:
    """Of one stack, all starts together; ms. The first and the last chirp of each start are left out."""

    name: str
    there_and_back: list[float] = field(default_factory=list)
    to_server: list[float] = field(default_factory=list)
    lost: int = 0
    underruns: int = 0
    server_cores: float = 0.0
    other_cores: float = 0.0
    starts: int = 0


def _pcm(text: str) -> npt.NDArray[np.float32]:
    return np.asarray(np.frombuffer(base64.b64decode(text), "<i2"), dtype=np.float32) / np.float32(32768)


def _onsets(records: Sequence[dict[str, Any]], name: str) -> npt.NDArray[np.float64]:
    """Chirps in whichever context carries them, as epoch ms."""
    loudest = max(records, key=lambda record: float(np.abs(_pcm(record[name])).max(initial=0.0)))
    zero_ms = min(arrived - 1000.0 * frame / loudest["rate"] for frame, arrived in loudest["wallMs"])
    first_ms = 1000.0 * loudest["firstFrame"] / loudest["rate"]
    return np.asarray(zero_ms + first_ms + onsets_ms(_pcm(loudest[name]), loudest["rate"]))


def _reached(arrivals: Sequence[Arrival], heard: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """When the first sample of each chirp reached the engine, epoch ms."""
    found = []
    for onset in onsets_ms(heard, _SAMPLE_RATE):
        place = int(onset * _SAMPLE_RATE / 1000)
        piece = next((arrival for arrival in arrivals if arrival.start <= place < arrival.end), None)
        if piece is not None:
            found.append(piece.at_ms)
    return np.array(found)


async def _one_start(playwright: Any, origin: str, engine: EchoEngine, stack: Stack, wav: Path, seconds: float, into: Measured) -> None:
    flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required", f"--use-file-for-fake-audio-capture={wav}%noloop"]
    browser = await playwright.chromium.launch(executable_path=executable(), args=flags, ignore_default_args=["--mute-audio"])
    try:
        page = await (await browser.new_context(permissions=["microphone"], bypass_csp=True)).new_page()
        await page.add_init_script(_PLAIN_MICROPHONE)
        await page.add_init_script(path=_EAR)
        await page.goto(origin + stack.path)
        await page.get_by_role("button", name="Call", exact=True).click()
        await page.wait_for_function(stack.live)
        (session,) = engine.sessions.values()
        session.keep_sound = True
        own, began = time.process_time(), time.monotonic()
        await asyncio.sleep(seconds)
        into.server_cores += (time.process_time() - own) / (time.monotonic() - began)
        arrivals, heard = list(session.arrivals), session.heard()
        records = await page.evaluate("window.ear.read()")
        into.underruns += int(await page.evaluate(stack.underruns))
    finally:
        await browser.close()
    said, echoed = _onsets(records, "microphone")[1:-1], _onsets(records, "pcm")
    into.there_and_back += list(delays := pair_up(said, echoed, _LONGEST_MS))
    into.to_server += list(pair_up(said, _reached(arrivals, heard), _LONGEST_MS))
    into.lost += len(said) - len(delays)
    into.starts += 1


async def measure(*, starts: int, seconds: float) -> list[Measured]:
    """Every stack ``starts`` times, by turns, so that the machine's moods fall on all alike. Needs the dev extra and a Chromium."""
    from playwright.async_api import async_playwright
    from starlette.staticfiles import StaticFiles

    from omnitalk.api.app import create_app
    from omnitalk.server import listen, make_server
    from omnitalk.settings import ServeSettings

    engine = EchoEngine()
    settings = ServeSettings(engine="echo", for_measuring=True, port=0)
    app = create_app(settings, engine)
    app.mount("/bench", StaticFiles(directory=_PAGES))
    app.router.routes.insert(0, app.router.routes.pop())  # before the page's own catch-all
    server = make_server(settings, app)
    listener = listen("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    found = [Measured(stack.name) for stack in STACKS]
    try:
        with tempfile.TemporaryDirectory() as folder:
            wav = Path(folder) / "chirps.wav"
            write_wav(wav, seconds + _LEAD_S + 30, _LEAD_S)
            async with async_playwright() as playwright:
                for _ in range(starts):
                    for stack, into in zip(STACKS, found, strict=True):
                        watch = Watch()
                        await _one_start(playwright, origin, engine, stack, wav, seconds, into)
                        into.other_cores += watch.usage().other_cores
    finally:
        server.should_exit = True
        await serving
        listener.close()
    return found


def table(found: Sequence[Measured], starts: int, seconds: float) -> str:
    """Markdown."""
    lines = [
        f"Machine: {describe()}. {starts} starts of {seconds:g} s each, by turns, on loopback.",
        "",
        "| Stack | mouth → ear, median | p95 | mic → server | server → ear | underruns | chirps lost "
        "| CPU of server and rig | browser and others |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in found:
        whole, there = np.array(each.there_and_back), np.array(each.to_server)
        median, half = float(np.median(whole)), float(np.median(there))
        lines.append(
            f"| {each.name} | **{median:.0f} ms** | {np.percentile(whole, 95):.0f} ms | {half:.0f} ms | {median - half:.0f} ms "
            f"| {each.underruns} | {each.lost} of {each.lost + len(whole)} | {100 * each.server_cores / each.starts:.1f} % of a core "
            f"| {each.other_cores / each.starts:.2f} cores |"
        )
    ours, theirs = (float(np.median(each.there_and_back)) for each in found[:2])
    lines += ["", f"Ours takes {ours / theirs:.2f} of the other's time: {theirs - ours:.0f} ms less."]
    return "\n".join(lines) + "\n"


def main(*, starts: int, seconds: float, output: Path | None) -> None:
    """Measures and prints a table."""
    text = table(asyncio.run(measure(starts=starts, seconds=seconds)), starts, seconds)
    print(text)
    if output is not None:
        output.write_text(text)
