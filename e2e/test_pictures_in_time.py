"""What the model is shown in a unit was seen in that unit: at one picture a second and at five, over both paths."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omnitalk.api.app import create_app
from omnitalk.bench.chromium import FLAGS, executable
from omnitalk.engines.base import Command, EngineSession
from omnitalk.engines.omni.intake import Intake
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.protocol import client
from omnitalk.protocol.session import SessionSettings
from omnitalk.server import listen, make_server
from omnitalk.settings import ServeSettings
from playwright.async_api import async_playwright

from .support.film import CAMERA, taken_ms
from .support.speech import say, write_wav

CELLS = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5)]
TRANSIT_MS = 150
"""From the moment that a microphone or a camera takes something to the engine; both are on their way at once."""


@dataclass
class Unit:
    """Of the model's: when its first and its last sound reached the engine (epoch ms), and its pictures."""

    began_ms: float
    ended_ms: float = 0.0
    pictures: tuple[bytes, ...] = ()


@dataclass
class Watch:
    """What the omni engine's own intake makes of a call's sound and pictures."""

    units: list[Unit] = field(default_factory=list)
    intake: Intake = field(default_factory=lambda: Intake(None))

    def see(self, event: client.InputAudioBufferAppend, settings: SessionSettings) -> None:
        now = time.time() * 1000.0
        for piece in self.intake.hear(event, settings.input_format)[0]:
            if piece.unit == len(self.units):
                self.units.append(Unit(now))
            if piece.completes:
                self.units[-1].ended_ms, self.units[-1].pictures = now, piece.frames


class WatchedEngine(ScriptedEngine):
    """The scripted engine in the flagship's vocabulary, with a look at what goes in."""

    def __init__(self) -> None:
        super().__init__("minicpm")
        self.watch = Watch()

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        session = await super().open_session(session_id, settings)
        submit = session.submit

        async def submit_and_see(command: Command) -> None:
            if isinstance(command, client.InputAudioBufferAppend):
                self.watch.see(command, session.settings)
            await submit(command)

        session.submit = submit_and_see  # type: ignore[method-assign]
        return session


async def shown(path: str, stacked: int, seconds: float, voice: Path) -> list[Unit]:
    """The units of a call with the camera on."""
    write_wav(voice, [say("This is how I sound.")])
    engine = WatchedEngine()
    settings = ServeSettings(engine="scripted", port=0)
    server = make_server(settings, create_app(settings, engine))
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
                page = await (await browser.new_context(permissions=["microphone", "camera"])).new_page()
                await page.add_init_script(CAMERA)
                await page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/?transport={path}")
                if stacked > 1:
                    await page.get_by_role("radio", name=f"{stacked} a second").check()
                await page.get_by_label("Reference voice").set_input_files(voice)
                await page.get_by_role("button", name="Call", exact=True).click()
                camera = page.get_by_role("button", name="Camera", exact=True)
                await camera.click()
                await asyncio.sleep(seconds)
                stats: dict[str, Any] = await page.evaluate("document.querySelector('omnitalk-call').session.stats()")
                assert stats["picturesSent"] > 0
                await browser.close()
        finally:
            server.should_exit = True
            await serving
    return engine.watch.units


@pytest.mark.parametrize("path", ["websocket", "webrtc"])
@pytest.mark.parametrize("stacked", [1, 5])
async def test_a_unit_is_shown_what_was_seen_in_it(path: str, stacked: int, tmp_path: Path) -> None:
    units = [unit for unit in await shown(path, stacked, 9.0, tmp_path / "voice.wav") if unit.ended_ms]
    first = next(number for number, unit in enumerate(units) if unit.pictures)
    whole = units[first + 1 :]
    assert len(whole) >= 5
    shown_to = [unit for unit in whole if unit.pictures]
    # A machine that is busy with something else may be late for a unit: it goes without, and nothing stale is shown in its place.
    assert len(shown_to) > len(whole) / 2
    ages, early = [], []
    for unit in shown_to:
        assert len(unit.pictures) == min(stacked, 2)
        moments = [taken_ms(unit.pictures[0], near_ms=unit.ended_ms)]
        if stacked > 1:
            moments += [taken_ms(unit.pictures[1], (x, y, 0.5, 0.5), unit.ended_ms) for x, y in CELLS]
            gaps = np.diff(moments)
            # 200 ms each on a machine that has nothing else to do.
            assert np.all(gaps > 0), f"in the order of time: {gaps}"
            assert 500 < np.sum(gaps) < 1_400, f"spread over the second: {gaps}"
        ages.append(unit.ended_ms - moments[0])
        early.append(unit.began_ms - moments[0])
        assert moments[-1] <= unit.ended_ms
    assert np.median(ages) <= 1_200
    # Nothing of the unit before, however busy the machine is.
    assert max(ages) <= 1_900
    assert np.median(early) <= TRANSIT_MS
