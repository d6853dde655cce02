"""What the page costs before a call: bytes, requests, and time until *Call* can be pressed, in a real browser with an empty cache."""

import asyncio
import statistics
from pathlib import Path
from typing import NamedTuple

from .chromium import FLAGS, executable
from .machine import Watch, describe

__all__ = ["Load", "main", "measure"]

# Noted by the page itself, in the frame in which the button can be pressed: a driver that asks from outside adds tens of ms of its own.
_WATCH = """
  const look = () => {
    const button = document.querySelector('omnitalk-call')?.shadowRoot?.querySelector('button.big:not(:disabled)');
    if (button?.offsetWidth) window.readyAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""
_SUM = (
    "(() => { const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];"
    " return [window.readyAt, all.reduce((sum, entry) => sum + entry.transferSize, 0), all.length]; })()"
)


class Load(NamedTuple):
    """One load of the page. ``ready_ms``: from the start of the navigation until the *Call* button is there to be pressed."""

    ready_ms: float
    transferred_bytes: int
    requests: int


async def measure(loads: int) -> list[Load]:
    """Loads the page of a server with the scripted engine, each time in a fresh profile. Needs the dev extra and a Chromium."""
    from playwright.async_api import async_playwright

    from omnitalk.api.app import create_app
    from omnitalk.engines.factory import make_engine
    from omnitalk.server import listen, make_server
    from omnitalk.settings import ServeSettings

    settings = ServeSettings(engine="scripted", port=0)
    app = create_app(settings, make_engine(settings))
    server = make_server(settings, app)
    listener = listen("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    found: list[Load] = []
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
            for _ in range(loads + 1):
                context = await browser.new_context()
                page = await context.new_page()
                await page.add_init_script(_WATCH)
                await page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}", wait_until="commit")
                await page.get_by_role("button", name="Call", exact=True).click(trial=True)
                await page.wait_for_load_state("networkidle")
                ready_ms, transferred, requests = await page.evaluate(_SUM)
                found.append(Load(ready_ms, transferred, requests))
                await context.close()
            await browser.close()
    finally:
        server.should_exit = True
        await serving
        listener.close()
    return found[1:]  # the first one also starts the browser's own machinery


def main(*, loads: int, output: Path | None) -> None:
    """Measures and prints a table."""
    watch = Watch()
    found = asyncio.run(measure(loads))
    usage = watch.usage()
    busy = usage.other_cores
    ready = sorted(load.ready_ms for load in found)
    table = (
        f"Machine: {describe()}. {loads} loads on loopback, empty cache; everything else, browser included, used {busy:.2f} cores.\n\n"
        "| What | median | worst |\n|---|---:|---:|\n"
        f"| **navigation → *Call* can be pressed** | {statistics.median(ready):.0f} ms | {ready[-1]:.0f} ms |\n"
        f"| transferred | {statistics.median(load.transferred_bytes for load in found) / 1000:.1f} kB | |\n"
        f"| requests | {statistics.median(load.requests for load in found):.0f} | |\n"
    )
    print(table)
    if output is not None:
        output.write_text(table)
