"""Clients that others wrote, unmodified: the ``openai`` package, and vLLM-Omni's ``DuplexClient``."""

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from .support import stock_duplex
from .support.server import Server, serving
from .support.speech import say, silence

PATIENCE_S = 90.0
QUESTION = "What is the capital of France?"


def pcm(samples: np.ndarray[Any, Any]) -> bytes:
    return bytes((np.clip(samples, -1, 1) * 32767).astype("<i2"))


@pytest.fixture(scope="session")
def native_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that speaks MiniCPM-o's vocabulary, with tones for speech."""
    log = tmp_path_factory.mktemp("native") / "server.log"
    with serving(log, "--engine", "scripted", "--scripted-mode", "minicpm") as server:
        yield server


@pytest.fixture(scope="session")
def duplex() -> tuple[Any, Any]:
    """The published client and its MiniCPM-o preset."""
    return stock_duplex.load()


# -- openai -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def openai_call(server: Server) -> AsyncIterator[AsyncRealtimeConnection]:
    address = f"127.0.0.1:{server.port}/v1"
    async with (
        AsyncOpenAI(api_key="none", base_url=f"http://{address}", websocket_base_url=f"ws://{address}") as client,
        client.realtime.connect(model="gpt-realtime") as connection,
    ):
        assert (await connection.recv()).type == "session.created"
        yield connection


async def read(connection: AsyncRealtimeConnection, until: Callable[[Any], bool]) -> list[Any]:
    """Events up to and with the first that satisfies ``until``; an error event fails the test."""
    events: list[Any] = []
    async with asyncio.timeout(PATIENCE_S):
        while not events or not until(events[-1]):
            event = await connection.recv()
            assert event.type != "error", event
            events.append(event)
    return events


def is_type(name: str) -> Callable[[Any], bool]:
    return lambda event: bool(event.type == name)


def sound_of(events: list[Any]) -> bytes:
    return b"".join(base64.b64decode(event.delta) for event in events if event.type == "response.output_audio.delta")


async def speak(connection: AsyncRealtimeConnection, samples: np.ndarray[Any, Any]) -> None:
    """24 kHz sound at the pace of speech."""
    for at in range(0, len(samples), 960):
        await connection.input_audio_buffer.append(audio=base64.b64encode(pcm(samples[at : at + 960])).decode())
        await asyncio.sleep(0.04)


async def test_openai_voice_turn(cascade_server: Server) -> None:
    async with openai_call(cascade_server) as connection:
        await connection.session.update(
            session={
                "type": "realtime",
                "output_modalities": ["audio"],
                "audio": {"input": {"transcription": {"model": "whisper-1"}, "turn_detection": {"type": "server_vad"}}},
            }
        )
        await read(connection, is_type("session.updated"))
        sending = asyncio.create_task(speak(connection, np.concatenate([say(QUESTION, 24_000), silence(2.0, 24_000)])))
        events = await read(connection, is_type("response.done"))
        await sending
        types = [event.type for event in events]
        assert types.index("input_audio_buffer.speech_started") < types.index("input_audio_buffer.speech_stopped")
        assert types.index("input_audio_buffer.committed") < types.index("response.created")
        [heard] = [event.transcript for event in events if event.type == "conversation.item.input_audio_transcription.completed"]
        assert "capital of france" in heard.lower()
        [said] = [event.transcript for event in events if event.type == "response.output_audio_transcript.done"]
        assert "paris" in said.lower()
        assert len(sound_of(events)) > 24_000
        assert events[-1].response.status == "completed"


async def test_openai_text_turn(cascade_server: Server) -> None:
    async with openai_call(cascade_server) as connection:
        await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        await read(connection, is_type("session.updated"))
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
        )
        await connection.response.create()
        events = await read(connection, is_type("response.done"))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert "paris" in text.lower()
        assert events[-1].response.output[0].content[0].text == text
        assert not sound_of(events)


async def test_openai_interruption_with_truncate(cascade_server: Server) -> None:
    async with openai_call(cascade_server) as connection:
        await connection.conversation.item.create(
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Tell me a long story about a brave little ship. Use many sentences."}],
            }
        )
        await connection.response.create()
        events = await read(connection, is_type("response.output_audio.delta"))
        delta = events[-1]
        await connection.response.cancel()
        await connection.conversation.item.truncate(item_id=delta.item_id, content_index=0, audio_end_ms=100)
        # Cancel and truncate may be answered in either order; both are answered once.
        wanted = {"response.done", "conversation.item.truncated"}
        seen: list[Any] = []
        async with asyncio.timeout(PATIENCE_S):
            while wanted - {event.type for event in seen}:
                seen.append(await connection.recv())
                assert seen[-1].type != "error", seen[-1]
        [done] = [event for event in seen if event.type == "response.done"]
        assert done.response.status == "cancelled"
        assert not sound_of(seen[seen.index(done) :])
        await connection.conversation.item.retrieve(item_id=delta.item_id)
        [item] = [event.item for event in await read(connection, is_type("conversation.item.retrieved")) if hasattr(event, "item")][-1:]
        assert item.content[0].transcript == ""
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
        )
        await connection.response.create()
        answered = await read(connection, is_type("response.done"))
        assert answered[-1].response.status == "completed"
        assert answered[-1].response.id != done.response.id


# -- DuplexClient -----------------------------------------------------------------------------------------------------


def reference_voice() -> str:
    """Two seconds of a tone, as the data URL that a MiniCPM-o client sends."""
    raw = io.BytesIO()
    with wave.open(raw, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(pcm(0.2 * np.sin(np.arange(32_000) * 0.1)))
    return "data:audio/wav;base64," + base64.b64encode(raw.getvalue()).decode()


async def one_reply(client: Any) -> tuple[bytes, str]:
    """Sound and id of the next response, acknowledged as a speaker would."""
    async with asyncio.timeout(PATIENCE_S):
        async for handle in client.responses():
            if handle.decision == "listen":
                # Decisions to listen come as responses that have ended.
                continue
            sound = b"".join([chunk async for chunk in handle.audio()])
            await client.ack_playback(len(sound) / 48.0, response_id=handle.response_id)
            await client.wait_for("playback.acknowledged", timeout_s=PATIENCE_S)
            return sound, handle.response_id
    raise AssertionError("no response came")


async def test_duplex_client_on_the_cascade(cascade_server: Server, duplex: tuple[Any, Any]) -> None:
    module, _ = duplex
    config = module.SessionConfig(instructions="Answer in one short sentence.", auto_response=True)
    async with module.DuplexClient(f"ws://127.0.0.1:{cascade_server.port}", model="omnitalk", config=config) as client:
        assert client.session_id.startswith("call_")
        reply = asyncio.create_task(one_reply(client))
        await asyncio.sleep(0)
        await client.stream_pcm(pcm(np.concatenate([silence(0.2, 16_000), say(QUESTION, 16_000), silence(0.3, 16_000)])), chunk_ms=100)
        await client.commit(final=True)
        sound, _ = await reply
        assert len(sound) > 24_000
        assert client._last_server_event_seq > 10


async def test_duplex_client_with_its_minicpm_preset(native_server: Server, duplex: tuple[Any, Any]) -> None:
    module, preset = duplex
    config = preset.create_duplex_session_config(ref_audio=reference_voice())
    async with module.DuplexClient(f"ws://127.0.0.1:{native_server.port}", model="minicpm", config=config) as client:
        reply = asyncio.create_task(one_reply(client))
        await asyncio.sleep(0)
        await client.stream_pcm(pcm(np.concatenate([0.3 * np.sin(np.arange(16_000) * 0.1), np.zeros(17_000)])), chunk_ms=200)
        sound, response_id = await reply
        assert len(sound) == 1_600 * 48
        assert response_id
        listening = asyncio.create_task(client.wait_for("response.listen", timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        await client.stream_pcm(bytes(2 * 17_000), chunk_ms=200)
        await listening


async def test_duplex_client_comes_back_by_itself(native_server: Server, duplex: tuple[Any, Any]) -> None:
    module, preset = duplex
    config = preset.create_duplex_session_config(ref_audio=reference_voice())
    async with module.DuplexClient(f"ws://127.0.0.1:{native_server.port}", model="minicpm", config=config) as client:
        before = (client.session_id, client.resume_token)
        resumed = asyncio.create_task(client.wait_for("session.resumed", timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        client._ws.transport.abort()
        await resumed
        assert client.session_id == before[0] and client.resume_token != before[1]
        reply = asyncio.create_task(one_reply(client))
        await asyncio.sleep(0)
        await client.stream_pcm(pcm(np.concatenate([0.3 * np.sin(np.arange(16_000) * 0.1), np.zeros(17_000)])), chunk_ms=200)
        sound, _ = await reply
        assert sound


async def test_duplex_client_is_told_why_it_is_refused(native_server: Server, duplex: tuple[Any, Any]) -> None:
    module, preset = duplex
    config = preset.create_duplex_session_config()
    client = module.DuplexClient(f"ws://127.0.0.1:{native_server.port}", model="minicpm", config=config)
    with pytest.raises(module.DuplexProtocolError, match="reference voice"):
        await client.__aenter__()
    await client._teardown_quietly()


def test_the_logs_hold_no_words_sound_or_tokens(cascade_server: Server) -> None:
    log = Path(cascade_server.log).read_text()
    for secret in ("capital of France", "Paris", "resume_token", "data:audio"):
        assert secret not in log
