"""MiniCPM-o's own engine behind the page: the real duplex pipeline on the CPU, a real browser, a fake microphone playing speech."""

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
import websockets

from .support import real_engine, stock_duplex
from .support.browser import opened
from .support.real_engine import Rig
from .support.speech import say, silence

pytestmark = pytest.mark.skipif(real_engine.python() is None, reason="the engine's CPU environment is made by scripts/test")

PATIENCE_S = 60.0
QUESTION = "Could you please tell me a little story about the sea?"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with real_engine.rig(tmp_path_factory.mktemp("native")) as found:
        yield found


def pcm(samples: np.ndarray[Any, Any]) -> bytes:
    return bytes((np.clip(samples, -1, 1) * 32767).astype("<i2"))


def test_a_spoken_question_is_answered_in_the_page(native: Rig) -> None:
    native.decide(chunks=3)
    with opened(native.server.url, scripted_mouth=True) as caller:
        caller.call()
        caller.say(say(QUESTION))
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 60)
        caller.wait("session.state.activity === 'listening'", 30)
        heard = caller.heard()
        loud = np.abs(heard.samples) > 0.02
        # Three pieces of about a second, of a vocoder that says every code as a tone.
        assert 2.0 < loud.sum() / heard.rate < 4.5
        assert any("One fine day" in text for text in caller.transcript("assistant"))
        assert caller.errors == []


@pytest.mark.parametrize("how", ["speech", "escape"])
def test_talking_over_it_silences_it_and_is_answered(native: Rig, how: str) -> None:
    native.decide(chunks=12)
    with opened(native.server.url, scripted_mouth=True) as caller:
        caller.call()
        caller.say(say(QUESTION))
        caller.wait("session.state.activity === 'speaking'", 60)
        caller.page.wait_for_timeout(1_500)  # a person listens a moment
        native.decide(chunks=2)
        if how == "escape":
            caller.page.keyboard.press("Escape")
            caller.wait("session.events.some(entry => entry.type === 'output_audio_buffer.cleared')")
        caller.say(say("Please stop now, and tell me what the keeper of the light did then."))
        caller.wait("session.events.some(entry => entry.type === 'output_audio_buffer.cleared')")
        cut = caller.log("output_audio_buffer.cleared")[0]
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 2", 60)
        heard = caller.heard()
        at = heard.frame_at(cut["at"])
        # A quantum and the fade after the cut, then nothing until the next turn, which takes more than half a second to begin.
        assert np.max(np.abs(heard.samples[at + heard.rate // 20 : at + heard.rate // 2])) < 1e-3
        first = caller.session("session.transcript.filter(line => line.role === 'assistant')[0]")
        assert first["interrupted"] is True
        assert caller.errors == []


async def test_vllm_omnis_own_client_holds_a_call(native: Rig) -> None:
    native.decide(chunks=3)
    module, preset = stock_duplex.load()
    config = preset.create_duplex_session_config(ref_audio=None)
    async with module.DuplexClient(f"ws://127.0.0.1:{native.server.port}", model="minicpm", config=config) as client:

        async def reply() -> bytes:
            async for handle in client.responses():
                if handle.decision != "listen":
                    sound = b"".join([chunk async for chunk in handle.audio()])
                    await client.ack_playback(len(sound) / 48.0, response_id=handle.response_id)
                    await client.wait_for("playback.acknowledged", timeout_s=PATIENCE_S)
                    return sound
            raise AssertionError("no response came")

        waiting = asyncio.create_task(reply())
        await asyncio.sleep(0)
        await client.stream_pcm(pcm(np.concatenate([say(QUESTION, 16_000), silence(6.0, 16_000)])), chunk_ms=100)
        async with asyncio.timeout(PATIENCE_S):
            assert len(await waiting) > 2.5 * 48_000
        before = client.session_id
        resumed = asyncio.create_task(client.wait_for("session.resumed", timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        client._ws.transport.abort()
        await resumed
        assert client.session_id == before


async def test_speech_over_a_reply_interrupts_it_softly_where_the_client_asks_for_that(native: Rig) -> None:
    """``turn_detection: server_vad`` is our own gate: what it decides is a soft interruption, not the engine's hard one."""
    native.decide(chunks=12)
    events: list[dict[str, Any]] = []
    changed = asyncio.Condition()
    async with websockets.connect(f"ws://127.0.0.1:{native.server.port}/v1/realtime?duplex=1&autostart=0", max_size=None) as socket:

        async def read() -> None:
            async for message in socket:
                async with changed:
                    events.append(json.loads(message))
                    changed.notify_all()

        async def until(kind: str, after: int = 0) -> dict[str, Any]:
            def found() -> list[dict[str, Any]]:
                return [event for event in events[after:] if event["type"] == kind]

            async with asyncio.timeout(PATIENCE_S), changed:
                await changed.wait_for(lambda: bool(found()))
            return found()[0]

        async def speak(samples: np.ndarray[Any, Any]) -> None:
            for at in range(0, len(samples), 1_600):
                audio = base64.b64encode(pcm(samples[at : at + 1_600])).decode()
                await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
                await asyncio.sleep(0.1)

        reader = asyncio.create_task(read())
        session = {
            "modalities": ["audio", "text"],
            "turn_detection": {"type": "server_vad"},
            "input_audio_format": "pcm16",
            "sample_rate_hz": 16_000,
        }
        await socket.send(json.dumps({"type": "session.update", "session": session}))
        await until("session.updated")
        await speak(np.concatenate([say(QUESTION, 16_000), silence(3.0, 16_000)]))
        first = (await until("response.created"))["response"]["id"]
        await until("response.output_audio.delta")
        native.decide(chunks=2)
        mark = len(events)
        await speak(np.concatenate([say("Please stop now and listen to what I have to say to you.", 16_000), silence(4.0, 16_000)]))
        done = await until("response.done", mark)
        assert (done["response"]["id"], done["response"]["status"]) == (first, "cancelled")
        assert done["response"]["status_details"]["reason"] == "turn_detected"
        await until("output_audio_buffer.cleared", mark)
        answer = await until("response.created", mark)
        assert answer["response"]["id"] != first
        # The model was asked softly: it forgot nothing.
        assert not [event for event in events if event.get("code") == "memory_cleared"]
        reader.cancel()


async def test_a_killed_stage_ends_calls_with_a_reason_and_readiness_turns_red(native: Rig) -> None:
    """The last test here: the engine is gone after it."""
    url = f"{native.server.url}/readyz"
    async with websockets.connect(f"ws://127.0.0.1:{native.server.port}/v1/realtime?duplex=1&autostart=0") as socket:
        await socket.send(json.dumps({"type": "session.update", "session": {"modalities": ["audio", "text"]}}))
        while json.loads(await socket.recv())["type"] != "session.updated":
            pass
        processes = real_engine.stages(native.server)
        assert len(processes) == 3
        real_engine.kill(processes[1])
        silent = base64.b64encode(bytes(3_200)).decode()
        closed: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE_S):
            while not closed:
                event = json.loads(await socket.recv())
                if event["type"] == "session.closed":
                    closed = event
                elif event["type"] == "response.listen":
                    await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": silent}))
        assert closed["reason"] == "engine_dead"
    async with httpx.AsyncClient() as client:
        answer = await client.get(url)
    assert answer.status_code == 503
    assert "stopped" in answer.json()["problem"]


def test_no_stage_outlives_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    with real_engine.rig(tmp_path_factory.mktemp("short")) as found:
        processes = real_engine.stages(found.server)
        assert len(processes) == 3
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive
