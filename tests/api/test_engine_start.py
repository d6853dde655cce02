"""An engine that cannot start yet, and one that never will."""

import httpx
import pytest
from omnitalk.api import app as app_module
from omnitalk.engines.base import EngineError
from omnitalk.engines.scripted import ScriptedEngine

from tests.websocket.live import eventually, serving


class LateEngine(ScriptedEngine):
    """Its language model's endpoint comes up after a while."""

    attempts = 0

    async def start(self) -> None:
        self.attempts += 1
        if self.attempts < 3:
            raise EngineError("engine_error", "The endpoint cannot be reached.", kind="server_error", retryable=True)
        await super().start()


async def test_a_problem_that_passes_needs_no_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "RETRY_S", 0.01)
    engine = LateEngine()
    async with serving(engine) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as client:
        answer = await client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json()["problem"] is None
        assert engine.attempts == 3


async def test_a_problem_that_stays_is_told_and_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "RETRY_S", 0.01)
    engine = ScriptedEngine(problem="The weights are missing: run `omnitalk models fetch`.")
    async with serving(engine, ready=False) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as client:
        await eventually(lambda: engine.health().problem is not None)
        answer = await client.get("/readyz")
        assert answer.status_code == 503
        assert "models fetch" in answer.json()["problem"]
