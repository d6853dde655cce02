"""How fast a cut is: from the server's decision to silence in what a real browser's page plays.

The real server with the scripted engine (replies are tones), the real page in Chromium, and an ear between the page's audio graph and its
destination. A round: ask for a long reply, let it sound, decide to cut inside the server, and look for the last audible sample.
"""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Final, Literal

import numpy as np

from .chromium import FLAGS, clock_ahead_ms, executable
from .hearing import Recording, loudest
from .machine import Watch, describe

__all__ = ["Transport", "last_sound_ms", "main", "measure"]

_AUDIBLE = 1e-3
Transport = Literal["websocket", "webrtc"]
_NAMES: Final[dict[Transport, str]] = {"websocket": "WebSocket", "webrtc": "WebRTC"}
_EAR = Path(__file__).parent / "ear.js"


def last_sound_ms(recording: Recording, after_ms: float, window_ms: float = 700.0) -> float:
    """From ``after_ms`` (epoch) to the end of the last audible sample in the window that follows; 0 if there is none.

    Raises ``RuntimeError`` when it was silent before that too: then there was nothing to cut.
    """
    rate, start = recording.rate, max(0, recording.index_at(after_ms))
    if not np.any(np.abs(recording.samples[max(0, start - rate // 5) : start]) > _AUDIBLE):
        raise RuntimeError("Nothing sounded in the 200 ms before the cut, so there is nothing to measure.")
    loud = np.flatnonzero(np.abs(recording.samples[start : start + int(window_ms * rate / 1000.0)]) > _AUDIBLE)
    return 1000.0 * (int(loud[-1]) + 1) / rate if len(loud) else 0.0


async def measure(rounds: int, transport: Transport = "websocket") -> list[float]:
    """Milliseconds from decision to silence, one a round. Needs the dev extra (Playwright) and a Chromium."""
    from playwright.async_api import async_playwright

    from omnitalk.api.app import create_app
    from omnitalk.engines.factory import make_engine
    from omnitalk.protocol.client import BargeIn
    from omnitalk.server import listen, make_server
    from omnitalk.settings import ServeSettings

    settings = ServeSettings(engine="scripted", scripted_mode="turn", port=0)
    app = create_app(settings, make_engine(settings))
    server = make_server(settings, app)
    listener = listen("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    hub = app.state.omnitalk.hub
    delays: list[float] = []
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=list(FLAGS), ignore_default_args=["--mute-audio"])
            # The ear is a script of ours that the page's own policy would refuse.
            page = await (await browser.new_context(permissions=["microphone"], bypass_csp=True)).new_page()
            await page.add_init_script(path=_EAR)
            await page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/?transport={transport}")
            await page.get_by_role("button", name="Call", exact=True).click()
            await page.wait_for_function("document.querySelector('omnitalk-call').session?.state.phase === 'live'")
            (runner,) = hub
            # Chromium's fake microphone beeps once a second, which would duck what we listen for.
            await page.evaluate("document.querySelector('omnitalk-call').session.setMuted(true)")
            await asyncio.sleep(1.0)
            for number in range(rounds):
                await page.evaluate("document.querySelector('omnitalk-call').session.sendText('something long, please')")
                await page.wait_for_function("document.querySelector('omnitalk-call').session.state.activity === 'speaking'")
                # Not always at the same place of a render quantum or of the page's work.
                await asyncio.sleep(0.9 + 0.037 * (number % 7))
                ahead_ms = await clock_ahead_ms(page)
                decided_ms = time.time() * 1000.0 + ahead_ms
                runner.receive(runner.call.attachment, BargeIn())
                await asyncio.sleep(1.0)
                records = await page.evaluate("window.ear.read()")
                delays.append(last_sound_ms(loudest(records), decided_ms))
            await browser.close()
    finally:
        server.should_exit = True
        await serving
        listener.close()
    return delays


def main(*, rounds: int, transport: Transport, output: Path | None) -> None:
    """Measures and prints a table."""
    watch = Watch()
    delays = sorted(asyncio.run(measure(rounds, transport)))
    usage = watch.usage()
    p95 = delays[min(len(delays) - 1, round(0.95 * (len(delays) - 1)))]
    table = (
        f"Machine: {describe()}. {rounds} cuts over {_NAMES[transport]} on loopback; everything else, browser included, used "
        f"{usage.other_cores:.2f} cores.\n\n"
        "| What | median | p95 | worst |\n|---|---:|---:|---:|\n"
        "| **server's decision → silence at the page's output** "
        f"| {statistics.median(delays):.0f} ms | {p95:.0f} ms | {delays[-1]:.0f} ms |\n"
    )
    print(table)
    if output is not None:
        output.write_text(table)
