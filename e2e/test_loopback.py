"""The person's own mouth-to-ear test, in the drawer of figures, over both paths and beside a live call."""

import re
from pathlib import Path

import pytest

from .support.browser import opened
from .support.server import serving


@pytest.mark.parametrize("path", ["websocket", "webrtc"])
def test_a_person_measures_mouth_to_ear_during_a_call(tmp_path: Path, path: str) -> None:
    with (
        serving(tmp_path / "log", "--engine", "scripted", "--max-calls", "1") as server,
        opened(f"{server.url}/?transport={path}", ear=False, scripted_mouth=True) as caller,
    ):
        caller.call()
        caller.page.get_by_role("button", name="Figures").click()
        caller.page.get_by_role("button", name="Test mouth to ear").click()
        told = caller.page.locator("[data-figure=loopback]")
        told.get_by_text("Mouth to ear over").wait_for(timeout=30_000)
        text = told.inner_text()
        name = {"websocket": "WebSocket", "webrtc": "WebRTC"}[path]
        found = re.match(rf"Mouth to ear over {name}: (\d+) ms \(95 %: (\d+) ms\), (\d+) of 10 chirps heard", text)
        assert found, text
        median, p95, heard = map(int, found.groups())
        assert heard >= 8
        # Something between the two audio callbacks at its ends and a delay nobody would talk over.
        assert 5 < median <= p95 < 1_250
        # The call itself, on the server's only line, noticed nothing.
        assert caller.session("session.state.phase") == "live"
        assert caller.errors == []
