"""A call that is longer than the model's context goes on, and says what it forgets."""

import asyncio
from collections.abc import Iterator

import pytest
from omnitalk.bench.driver import opened
from omnitalk.engines.base import Engine
from omnitalk.engines.cascade.engine import CascadeEngine, CascadeFiles
from omnitalk.engines.cascade.llm_local import LocalLlm
from omnitalk.models import path
from omnitalk.protocol import server
from omnitalk.protocol.session import SessionSettings


async def _files() -> CascadeFiles:
    return CascadeFiles(
        vad=path("vad") / "model.onnx", turn=path("turn") / "model.onnx", whisper=path("asr"), llm=path("llm") / "model.gguf"
    )


def _small(files: CascadeFiles, seats: int) -> LocalLlm:
    assert files.llm is not None
    return LocalLlm(files.llm, name="small", seats=seats, context_tokens=512)


@pytest.fixture
def forgetful() -> Iterator[Engine]:
    """The cascade with room for a handful of turns."""
    engine = CascadeEngine(_files, _small, model="small", max_sessions=1)
    asyncio.run(engine.start())
    yield engine
    asyncio.run(engine.stop())


async def test_the_oldest_turns_are_forgotten_before_the_context_is_full(forgetful: Engine) -> None:
    settings = SessionSettings(output_modalities=("text",), max_output_tokens=40)
    async with opened(forgetful, settings) as driver:
        for number in range(10):
            await driver.ask(f"Here is fact number {number}: the little ship sailed past {number} green islands. What did it pass?")
            assert driver.all(server.ResponseDone)[-1].response["status"] in ("completed", "incomplete")
        await driver.until_type(server.OmnitalkNotice)
        assert {notice.code for notice in driver.all(server.OmnitalkNotice)} == {"context_trimmed"}
        gauges = driver.all(server.OmnitalkContext)
        assert all(gauge.used_tokens <= gauge.max_tokens for gauge in gauges)
        # Forgetting happens in blocks, so most turns find the model's cache valid.
        assert len(driver.all(server.OmnitalkNotice)) < 5


async def test_a_turn_that_cannot_fit_fails_alone(forgetful: Engine) -> None:
    async with opened(forgetful, SessionSettings(output_modalities=("text",), max_output_tokens=40)) as driver:
        await driver.ask("island " * 800)
        done = driver.all(server.ResponseDone)[-1]
        assert done.response["status"] == "failed"
        assert done.response["status_details"]["error"]["message"]
        await driver.ask("What is the capital of France?")
        assert driver.all(server.ResponseDone)[-1].response["status"] == "completed"
