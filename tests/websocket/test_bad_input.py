"""What a broken or hostile client does: each gets a named error or a documented close code, and nobody else notices."""

import asyncio
import base64
import contextlib
import gc
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import psutil
import pytest
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine
from omnitalk.transports.websocket import SocketConfig
from websockets.exceptions import ConnectionClosed

from .live import Live, Talker, eventually, pcm, serving, sound_of, talking, voice

SCRIPT = Script(replies=tuple(Reply(words="one two three four", seconds=1.0) for _ in range(500)), pace=10.0)


@asynccontextmanager
async def bystander(live: Live) -> AsyncIterator[Talker]:
    """Somebody else's call, which goes on asking and must get every answer whole, and no error."""
    async with talking(live.ws()) as talker:
        await talker.open()

        async def converse() -> None:
            while True:
                await talker.ask()
                await talker.until("response.done")
                await asyncio.sleep(0.02)

        task = asyncio.create_task(converse(), name="bystander")
        yield talker
        assert not task.done(), "the other call broke"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # One more, whole, after all that.
        count = len(talker.of("response.done"))
        while len(talker.of("response.done")) < max(count + 1, len(talker.of("response.created"))):
            if len(talker.of("response.created")) == len(talker.of("response.done")):
                await talker.ask()
            await talker.until("response.done")
        done = talker.of("response.done")[-1]
        assert done["response"]["status"] == "completed"
        assert len(sound_of(talker.events, done["response_id"])) == 48_000
        assert not talker.of("error")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def append(**fields: Any) -> str:
    return json.dumps({"type": "input_audio_buffer.append", **fields})


BAD: list[tuple[str, str | bytes, str, str | None]] = [
    ("not JSON", "hello?", "invalid_json", None),
    ("half a JSON", '{"type": "response.create"', "invalid_json", None),
    ("nothing", "", "invalid_json", None),
    ("no object", "[1, 2, 3]", "bad_event", None),
    ("JSON null", "null", "bad_event", None),
    ("no type", '{"audio": "AAAA"}', "bad_event", "type"),
    ("type is a number", '{"type": 7}', "bad_event", "type"),
    ("unknown type", '{"type": "response.think_harder"}', "unknown_event", "type"),
    ("a server's event", '{"type": "response.done"}', "unknown_event", "type"),
    ("deep nesting", '{"type": "response.create", "response": ' + '{"a":' * 500 + "1" + "}" * 500 + "}", "bad_event", None),
    ("audio is a number", append(audio=5), "bad_audio", "audio"),
    ("audio is a list", append(audio=[1, 2]), "bad_audio", "audio"),
    ("base64 garbage", append(audio="!!!not base64!!!"), "bad_audio", "audio"),
    ("no sound at all", append(), "bad_event", "audio"),
    ("odd-length PCM", append(audio=b64(b"\x01\x02\x03")), "bad_audio", "audio"),
    ("NaN samples", append(audio=b64(struct.pack("<f", float("nan"))), format="pcm_f32le"), "bad_audio", "audio"),
    ("infinite samples", append(audio=b64(struct.pack("<f", float("inf"))), format="pcm_f32le"), "bad_audio", "audio"),
    ("NaN in JSON", '{"type": "playback.ack", "played_ms": NaN}', "invalid_json", None),
    ("infinite number", '{"type": "playback.ack", "played_ms": 1e999}', "invalid_json", None),
    ("negative time", '{"type": "playback.ack", "played_ms": -1}', "bad_event", "played_ms"),
    ("rate of 1 Hz", append(audio="AAAA", sample_rate_hz=1), "bad_event", "sample_rate_hz"),
    ("rate of a GHz", append(audio="AAAA", sample_rate_hz=10**9), "bad_event", "sample_rate_hz"),
    ("rate is text", append(audio="AAAA", sample_rate_hz="fast"), "bad_event", "sample_rate_hz"),
    ("unknown format", append(audio="AAAA", format="mp3"), "unsupported_audio_format", None),
    ("frames are no pictures", append(audio="AAAA", video_frames=[b64(b"hello")]), "invalid_video_frames", "video_frames[0]"),
    ("three frames", append(audio="AAAA", video_frames=[b64(b"\xff\xd8\xff")] * 3), "invalid_video_frames", "video_frames"),
    ("commit of nothing", '{"type": "input_audio_buffer.commit"}', "input_audio_buffer_empty", None),
    ("answer to nothing", '{"type": "response.create"}', "response_create_without_input", None),
    ("cancel of nothing", '{"type": "response.cancel"}', "response_not_active", None),
    (
        "ack of an unknown response",
        '{"type": "playback.ack", "played_ms": 5, "response_id": "resp_no"}',
        "playback_item_not_found",
        "response_id",
    ),
    ("ack of an unknown item", '{"type": "playback.ack", "played_ms": 5, "item_id": "item_no"}', "playback_item_not_found", "item_id"),
    (
        "truncate of an unknown item",
        '{"type": "conversation.item.truncate", "item_id": "x", "audio_end_ms": 0}',
        "item_not_found",
        "item_id",
    ),
    ("event ack from the future", '{"type": "session.event_ack", "server_event_seq": 9999999}', "invalid_event_ack", "server_event_seq"),
    ("resume in mid-call", '{"type": "session.resume", "session_id": "a", "resume_token": "b"}', "invalid_session_resume", None),
    ("item is a string", '{"type": "conversation.item.create", "item": "hi"}', "bad_event", "item"),
    ("another model", '{"type": "session.update", "session": {"model": "other"}}', "model_update_unsupported", "session.model"),
    (
        "a voice of a million letters",
        json.dumps({"type": "session.update", "session": {"voice": "x" * 10**6}}),
        "bad_event",
        "session.voice",
    ),
    ("binary on a JSON socket", b"\x00\x01\x02", "bad_event", None),
]


async def test_each_mistake_is_named_the_call_lives_and_nobody_else_notices() -> None:
    async with serving(ScriptedEngine(script=SCRIPT)) as live, bystander(live), talking(live.ws()) as talker:
        await talker.open()
        for what, data, code, param in BAD:
            await talker.raw(data)
            error = await talker.until("error")
            assert error["error"]["code"] == code, (what, error["error"])
            assert len(error["error"]["message"]) > 10, what
            if param is not None:
                assert error["error"]["param"] == param, (what, error["error"])
        await talker.ask()
        done = await talker.until("response.done")
        assert done["response"]["status"] == "completed"


@pytest.mark.parametrize(
    "frame", [b"", b"OT", b"XX\x01\x00\x02\x00\x00\x00{}", b"OT\x09\x00\x02\x00\x00\x00{}", b"OT\x01\xff\xff\xff\xff\xff"]
)
async def test_bad_binary_frames_are_named(frame: bytes) -> None:
    async with serving() as live, talking(live.ws(), subprotocols=["omnitalk.binary.v1"]) as talker:
        await talker.open()
        await talker.raw(frame)
        await talker.error("bad_event")
        await talker.alive()


async def test_an_event_over_15_mib_is_named_and_a_frame_over_the_limit_closes_1009() -> None:
    async with serving(ScriptedEngine(script=SCRIPT)) as live, bystander(live):
        async with talking(live.ws()) as talker:
            await talker.open()
            await talker.raw('{"type": "input_audio_buffer.append", "audio": "' + "A" * (15 * 1024 * 1024) + '"}')
            await talker.error("event_too_large")
            await talker.alive()
        async with talking(live.ws()) as talker:
            await talker.open()
            with contextlib.suppress(ConnectionClosed):
                await talker.raw("x" * (20 * 1024 * 1024))
            assert (await talker.closed())[0] == 1009


async def test_text_that_is_not_utf8_closes_1007() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.open()
        await talker.socket.send(b"\xff\xfe\xff", text=True)
        assert (await talker.closed())[0] == 1007


async def test_a_flood_of_events_is_told_once_a_second_and_starves_nobody() -> None:
    async with serving(ScriptedEngine(script=SCRIPT)) as live, bystander(live) as other, talking(live.ws()) as talker:
        await talker.open()
        before = len(other.of("response.done"))
        heartbeat = json.dumps({"type": "session.heartbeat"})

        async def flood() -> None:
            for _ in range(8_000):
                await talker.raw(heartbeat)

        flooding = asyncio.create_task(flood())
        reading = asyncio.create_task(talker.until("error"))
        error = await reading
        assert error["error"]["code"] == "rate_limit_exceeded"
        drained = asyncio.create_task(talker.closed())
        await flooding
        [runner] = [each for each in live.hub if each.call.call_id == talker.session_id]
        await eventually(lambda: runner.call.counters["events_refused"] > 2_000)
        await eventually(lambda: len(other.of("response.done")) > before)
        drained.cancel()
        await asyncio.gather(drained, return_exceptions=True)
        assert len(talker.of("error")) <= 20


async def test_a_reader_that_takes_nothing_is_cut_off_and_its_call_can_be_resumed() -> None:
    long = Script(replies=tuple(Reply(words="one two", seconds=60.0) for _ in range(4)), pace=400.0)
    quick = SocketConfig(send_timeout_s=0.5)
    async with serving(ScriptedEngine(script=long), socket=quick) as live:
        async with talking(live.ws(), max_queue=1) as talker:
            await talker.open()
            for _ in range(4):
                await talker.ask()
            [runner] = live.hub
            # Four minutes of speech are 15 MB of text; nobody reads them.
            await eventually(lambda: not runner.call.lease.attached)
            assert runner.call.outbox.journal.bytes < 10 * 1024 * 1024
            talker.socket.transport.abort()
        assert len(live.hub) == 1
        async with talking(live.ws("duplex=1&resume=1")) as back:
            await back.send("session.resume", session_id=talker.session_id, resume_token=talker.token, last_received_server_event_seq=1)
            await back.until("session.resumed")


async def test_a_half_closed_socket_is_let_go() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.open()
        [runner] = live.hub
        raw: socket.socket = talker.socket.transport.get_extra_info("socket")
        raw.shutdown(socket.SHUT_WR)
        await eventually(lambda: not runner.call.lease.attached)


async def test_an_hour_of_silence_ends_a_call_by_its_idle_limit() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.open(idle_timeout_s=1)
        code, reason = await talker.closed()
        assert talker.events[-2]["type"] == "session.expired"
        assert (talker.events[-2]["reason"], talker.events[-1]["type"]) == ("idle_ttl_expired", "session.closed")
        assert (code, reason) == (1000, "idle_ttl_expired")


async def test_a_model_that_breaks_down_ends_its_call_with_a_reason_and_no_other() -> None:
    engine = ScriptedEngine(script=SCRIPT)
    async with serving(engine) as live, bystander(live), talking(live.ws()) as talker:
        await talker.open()
        engine.sessions[talker.session_id].fail("engine_error", "The model ran out of memory.")
        code, _ = await talker.closed()
        assert code == 1011
        assert talker.events[-1]["type"] == "session.closed"
        assert (talker.events[-1]["reason"], talker.events[-1]["message"]) == ("engine_error", "The model ran out of memory.")
        await eventually(lambda: len(engine.sessions) == 1)


async def test_memory_is_flat_under_abuse() -> None:
    quiet = append(audio=b64(pcm(np.zeros(320, np.float32))))
    speech = append(audio=b64(pcm(voice(0.02))))

    async def abuse(live: Live) -> None:
        async with talking(live.ws()) as talker:
            await talker.open()
            reading = asyncio.create_task(talker.closed())
            for _, data, _, _ in BAD:
                await talker.raw(data)
            for _ in range(600):
                await talker.raw(quiet)
                await talker.raw(speech)
            await talker.raw("x" * (15 * 1024 * 1024 + 10))
            await talker.send("session.close")
            # The flood limit may have dropped that; leaving ends it too.
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    process = psutil.Process()
    async with serving(grace_s=0.05) as live:
        for _ in range(3):
            await abuse(live)
        await eventually(lambda: not len(live.hub))
        gc.collect()
        before = process.memory_info().rss
        for _ in range(12):
            await abuse(live)
        await eventually(lambda: not len(live.hub))
        gc.collect()
        assert process.memory_info().rss - before < 24 * 1024 * 1024
