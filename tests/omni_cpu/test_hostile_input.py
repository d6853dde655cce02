"""What one caller sends ends at most that caller's call: the engine's processes live on, and so do the other calls."""

import asyncio
import base64
import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
import soundfile
from omnitalk.bench.driver import opened
from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.chat import ChatMessage, ChatPart, ChatRequest
from omnitalk.engines.omni import OmniEngine
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionPatch, SessionSettings
from PIL import Image

from .speech import units


def png(width: int, height: int) -> bytes:
    """A few bytes that claim to be a large picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1_000))) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), (9, 9, 9)).save(file, "JPEG")
    return file.getvalue()


BAD_PICTURES = {
    "garbage behind a JPEG's first bytes": b"\xff\xd8\xff\xe0" + b"x" * 500,
    "half a JPEG": jpeg(640, 480)[:2_000],
    "a PNG that claims 3.6 gigapixels": png(60_000, 60_000),
    "a PNG whose pixels are missing": png(640, 480),
    "one pixel": jpeg(1, 1),
    "a line": jpeg(4_000, 20),
    "a GIF": b"GIF89a" + bytes(100),
}


@pytest.mark.parametrize("what", BAD_PICTURES)
async def test_a_bad_picture_is_refused_and_the_sound_goes_on(engine: Engine, omni: OmniEngine, what: str) -> None:
    async with opened(engine) as driver:
        for piece in range(10):
            frames = [BAD_PICTURES[what]] if piece == 9 else []
            await driver.session.submit(client.InputAudioBufferAppend(audio=bytes(3_200), video_frames=frames))
        refused = driver.events[await driver.until_type(server.Error)]
        assert isinstance(refused, server.Error)
        assert refused.error.code == "invalid_video_frames"
        await driver.until_type(server.ResponseListen)
        await driver.ask("still there?")
        assert driver.all(server.ResponseDone)[0].response["status"] == "completed"
    assert omni.health().ready


def voice(samples: Any, rate: int, subtype: str = "PCM_16") -> str:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype=subtype)
    return "data:audio/wav;base64," + base64.b64encode(file.getvalue()).decode()


STRANGE: dict[str, SessionSettings] = {
    "instructions longer than the context": SessionSettings(instructions="word " * 20_000),
    "an opening text longer than the context": SessionSettings(initial_user_text="word " * 20_000),
    "a temperature of nowhere": SessionSettings(temperature=-5.0),
    "an absurd temperature": SessionSettings(temperature=1e30),
    "no tokens at all": SessionSettings(max_output_tokens=0),
    "a window that is none": SessionSettings(
        extra={"sliding_window_mode": "basic", "basic_window_high_tokens": -1, "basic_window_low_tokens": 5}
    ),
    "an unknown window": SessionSettings(extra={"sliding_window_mode": "round"}),
    "a voice of nothing but NaN": SessionSettings(ref_audio=voice(np.full(32_000, np.nan, np.float32), 16_000, "FLOAT")),
    "a voice at 100 samples a second": SessionSettings(ref_audio=voice(np.zeros(200, np.float32), 100)),
    "a voice in eight channels": SessionSettings(ref_audio=voice(np.zeros((32_000, 8), np.float32), 16_000)),
    "speech a hundred times as fast": SessionSettings(speed=100.0),
}


@pytest.mark.parametrize("what", STRANGE)
async def test_strange_settings_hurt_nobody_else(engine: Engine, omni: OmniEngine, what: str) -> None:
    async with opened(engine, name="call_calm") as calm:
        try:
            session = await engine.open_session("call_strange", STRANGE[what])
        except EngineError as refused:
            assert len(refused.message) > 10
        else:
            for _ in range(30):
                try:
                    await session.submit(client.InputAudioBufferAppend(audio=bytes(3_200), is_speech=True))
                except EngineError:
                    break
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)
            await session.close("test_over")
        await units(calm, "SNN", pace_s=0.3)
        await calm.until_type(server.ResponseOutputAudioDelta)
        await asyncio.sleep(1.2)
    assert omni.health().ready, omni.health().problem


async def test_a_number_that_is_none_is_refused_in_mid_call(engine: Engine, omni: OmniEngine) -> None:
    async with opened(engine) as driver:
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.SessionUpdate(session=SessionPatch(temperature=1e30)))
        assert refused.value.param == "session.temperature"
        await driver.ask("still there?")
    assert omni.health().ready


CHATS: dict[str, ChatPart] = {
    "a picture that is none": ChatPart(kind="image", data=b"\xff\xd8\xff\xe0" + b"x" * 500, mime="image/jpeg"),
    "a picture of 3.6 gigapixels": ChatPart(kind="image", data=png(60_000, 60_000), mime="image/png"),
    "sound that is none": ChatPart(kind="audio", data=b"no sound", mime="audio/wav"),
    "a film that is none": ChatPart(kind="video", data=b"no film", mime="video/mp4"),
    "a text longer than the context": ChatPart(kind="text", text="word " * 20_000),
}


@pytest.mark.parametrize("what", CHATS)
async def test_bad_chat_input_is_refused_and_hurts_nobody(omni: OmniEngine, engine: Engine, what: str) -> None:
    words = ChatPart(kind="text", text="What is this?")
    request = ChatRequest(messages=(ChatMessage(role="user", parts=(CHATS[what], words)),), max_tokens=8)
    with pytest.raises(EngineError) as refused:
        async with asyncio.timeout(60):
            async for _ in omni.chat(request):
                pass
    assert refused.value.kind == "invalid_request_error", refused.value
    async with opened(engine) as driver:
        await driver.ask("still there?")
    assert omni.health().ready
