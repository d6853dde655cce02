"""The echo engine: for measuring, and not by accident."""

from collections.abc import AsyncIterator

import numpy as np
import pytest
from omnitalk.engines.base import EngineError, EngineEvent, Interrupt
from omnitalk.engines.echo import EchoEngine
from omnitalk.engines.factory import make_engine
from omnitalk.media.audio import decode, encode
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings
from omnitalk.settings import ServeSettings


def test_it_is_not_served_by_mistake() -> None:
    with pytest.raises(EngineError, match="--for-measuring"):
        make_engine(ServeSettings(engine="echo"))
    assert make_engine(ServeSettings(engine="echo", for_measuring=True)).capabilities.name == "echo"


async def test_what_is_said_comes_back_and_a_cut_begins_a_new_response() -> None:
    engine = EchoEngine()
    await engine.start()
    session = await engine.open_session("call_1", SessionSettings())
    tone = np.asarray(0.5 * np.sin(np.arange(3_200) * 2 * np.pi * 500 / 16_000), dtype=np.float32)
    events = session.events()
    await session.submit(client.InputAudioBufferAppend(audio=encode(tone, "pcm16")))
    first = ""
    async for event in events:
        if isinstance(event, server.ResponseOutputAudioDelta):
            first = event.response_id
            heard = decode(event.delta, "pcm16")
            assert len(heard) == pytest.approx(4_800, abs=64)
            assert float(np.sqrt(np.mean(heard**2))) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)
            break
    await session.submit(Interrupt(response_id=first, heard_ms=100, reason="client_cancelled"))
    done = [event async for event in _until_created(events)]
    assert [event.response["status"] for event in done if isinstance(event, server.ResponseDone)] == ["cancelled"]
    with pytest.raises(EngineError, match="for measuring"):
        await session.submit(client.ResponseCreate())
    with pytest.raises(EngineError, match="whole number"):
        await session.submit(client.InputAudioBufferAppend(audio=b"\x00"))
    await session.close("client_close")
    assert engine.sessions == {}
    await engine.stop()


async def _until_created(events: AsyncIterator[EngineEvent]) -> AsyncIterator[EngineEvent]:
    async for event in events:
        yield event
        if isinstance(event, server.ResponseCreated):
            return


@pytest.mark.parametrize(
    ("wrong", "code"), [({"format": "mp3"}, "unsupported_audio_format"), ({"sample_rate_hz": "fast"}, "unsupported_audio_format")]
)
async def test_sound_of_a_kind_that_nobody_knows_is_refused_by_name(wrong: dict[str, object], code: str) -> None:
    """Pages reach this engine through the loop-back door, so it refuses what the others refuse."""
    engine = EchoEngine()
    await engine.start()
    session = await engine.open_session("call_1", SessionSettings())
    with pytest.raises(EngineError) as refused:
        await session.submit(client.InputAudioBufferAppend(audio=bytes(640), **wrong))  # type: ignore[arg-type]
    assert refused.value.code == code
    await session.close("client_close")
    await engine.stop()
