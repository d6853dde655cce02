"""How a call begins: what opens it, what is said first, and what is refused."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.transports.websocket import SocketConfig
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .live import eventually, serving, talking


async def test_duplex_opens_on_session_update_and_says_created_then_updated() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        created = await talker.open(instructions="Be brief.")
        assert "server_event_seq" not in created
        session = created["session"]
        assert (session["input_audio_format"], session["audio"]["input"]["format"]["rate"]) == ("pcm16", 16_000)
        assert session["turn_detection"] is None
        assert session["instructions"] == "Be brief."
        assert created["resume_token"] and created["attachment_generation"] == 1
        updated = await talker.next()
        assert (updated["type"], updated["server_event_seq"]) == ("session.updated", 1)
        await talker.hang_up()
    assert len(live.hub) == 0


async def test_numbers_rise_by_one() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.open()
        await talker.ask()
        await talker.until("rate_limits.updated")
        numbers = [event["server_event_seq"] for event in talker.events if "server_event_seq" in event]
        assert numbers == list(range(1, len(numbers) + 1))


async def test_an_openai_client_is_greeted_at_once() -> None:
    async with serving() as live, talking(live.ws("model=gpt-realtime")) as talker:
        created = await talker.next()
        assert created["type"] == "session.created"
        session = created["session"]
        assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
        assert session["turn_detection"]["type"] == "server_vad"


async def test_a_model_in_a_duplex_query_opens_at_once_unless_autostart_is_off() -> None:
    async with serving() as live:
        async with talking(live.ws("duplex=1&model=any")) as talker:
            assert (await talker.next())["type"] == "session.created"
        async with talking(live.ws("duplex=true&model=any&autostart=off")) as talker:
            await talker.send("session.heartbeat")
            assert (await talker.next())["type"] == "session.heartbeat_ack"


async def test_the_alias_is_duplex_without_a_query() -> None:
    async with serving() as live, talking(live.ws("", path="/v1/duplex")) as talker:
        assert (await talker.open())["session"]["turn_detection"] is None


async def test_any_other_first_event_opens_a_default_session_and_is_executed() -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.ask()
        await talker.until("session.created")
        await talker.until("response.done")


async def test_nothing_said_in_time_is_a_config_timeout() -> None:
    async with serving(socket=SocketConfig(config_timeout_s=0.05)) as live, talking(live.ws()) as talker:
        await talker.error("config_timeout")
        assert (await talker.closed())[0] == 1008


@pytest.mark.parametrize(
    ("session", "code", "param"),
    [
        ({"input_audio_format": "opus"}, "unsupported_audio_format", "session.input_audio_format"),
        ({"sample_rate_hz": 1}, "unsupported_audio_format", "session.sample_rate_hz"),
        ({"turn_detection": {"type": "psychic"}}, "unsupported_turn_detection", "session.turn_detection.type"),
        ({"temperature": 99}, "bad_event", "session.temperature"),
    ],
)
async def test_a_wrong_first_update_is_named_and_may_be_corrected(session: dict[str, Any], code: str, param: str) -> None:
    async with serving() as live, talking(live.ws()) as talker:
        await talker.send("session.update", event_id="event_mine", session=session)
        error = await talker.error(code)
        assert (error["param"], error["event_id"]) == (param, "event_mine")
        await talker.open()


async def test_legacy_transcription_sockets_are_told_so() -> None:
    async with serving() as live, talking(live.ws("duplex=0")) as talker:
        await talker.error("unsupported")
        assert (await talker.closed())[0] == 1008


@pytest.mark.parametrize(
    "offered", [["realtime", "openai-insecure-api-key.sk-1", "openai-beta.realtime-v1"], ["omnitalk.binary.v1", "realtime"]]
)
async def test_subprotocols(offered: list[str]) -> None:
    async with serving() as live, talking(live.ws(), subprotocols=offered) as talker:
        assert talker.socket.subprotocol == offered[0]
        await talker.open()


async def test_pages_of_other_origins_are_refused_before_the_socket_opens() -> None:
    async with serving(allow_origin=["https://friend.example"]) as live:
        with pytest.raises(InvalidStatus) as refused:
            async with talking(live.ws(), origin="https://evil.example"):
                pass
        assert refused.value.response.status_code == 403
        assert json.loads(refused.value.response.body or b"")["error"]["code"] == "origin_not_allowed"
        for origin in ("https://friend.example", f"http://{live.host}"):
            async with talking(live.ws(), origin=origin) as talker:
                await talker.open()


async def test_a_loading_engine_says_so_and_the_caller_is_asked_to_come_back() -> None:
    hatched = asyncio.Event()

    async def hatch(seconds: float) -> None:
        await hatched.wait()

    async with serving(ScriptedEngine(sleep=hatch), ready=False) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        assert (await http.get("/healthz")).status_code == 200
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()["stage"]) == (503, "loading the script")
        async with talking(live.ws()) as talker:
            await talker.send("session.update", session={})
            assert (await talker.error("engine_not_ready"))["retryable"] is True
            assert (await talker.closed())[0] == 1013
        hatched.set()
        await eventually(lambda: live.engine.health().ready)
        assert (await http.get("/readyz")).status_code == 200


async def test_a_server_that_stops_says_goodbye_to_its_calls() -> None:
    async with serving() as live:
        talker_context = talking(live.ws())
        talker = await talker_context.__aenter__()
        await talker.open()
    with pytest.raises(ConnectionClosed):
        while True:
            await talker.next()
    assert talker.events[-1]["type"] == "session.closed"
    assert talker.events[-1]["reason"] == "server_shutdown"
    assert talker.socket.close_code == 1001
    await talker_context.__aexit__(None, None, None)
