"""A network that is cut, a second socket that takes over, a client that never returns."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine
from websockets.exceptions import ConnectionClosed

from .live import DUPLEX, Event, Live, Talker, Wire, eventually, serving, sound_of, talking

LONG = Script(replies=(Reply(words="one two three four five six seven eight nine ten", seconds=6.0),), pace=12.0)


async def whole_reply() -> bytes:
    """What an undisturbed client hears."""
    async with serving(ScriptedEngine(script=LONG)) as live, talking(live.ws()) as talker:
        await talker.open()
        await talker.ask()
        await talker.until("response.done")
        return sound_of(talker.events)


@asynccontextmanager
async def resumed(live: Live, before: Talker, url: str | None = None) -> AsyncIterator[Talker]:
    async with talking(url or live.ws("duplex=1&resume=1")) as talker:
        await talker.send(
            "session.resume",
            session_id=before.session_id,
            resume_token=before.token,
            last_received_server_event_seq=before.last_seq,
        )
        assert (await talker.next())["type"] == "session.resumed"
        yield talker


async def read_some_sound(talker: Talker, deltas: int) -> None:
    while len(talker.of("response.output_audio.delta")) < deltas:
        await talker.next()


async def lost(talker: Talker) -> None:
    with pytest.raises(ConnectionClosed):
        while True:
            await talker.next()


def numbers(events: list[Event]) -> list[int]:
    return [event["server_event_seq"] for event in events if "server_event_seq" in event]


@pytest.mark.parametrize("how", ["server", "network"])
async def test_a_cut_in_mid_reply_loses_and_repeats_nothing(how: str) -> None:
    expected = await whole_reply()
    async with serving(ScriptedEngine(script=LONG)) as live, Wire(int(live.host.rpartition(":")[2])) as wire:
        url = f"ws://127.0.0.1:{wire.port}/v1/realtime?{DUPLEX}"
        async with talking(url) as talker:
            await talker.open()
            await talker.ask()
            await read_some_sound(talker, 3)
            if how == "network":
                wire.down = True
                wire.cut()
            else:
                [connection] = [each for each in asyncio.all_tasks() if each.get_name() == "socket in"]
                connection.cancel()
            await lost(talker)
        before = talker
        # The model goes on talking to nobody.
        [runner] = live.hub
        await eventually(lambda: runner.call.ledger.newest is not None and runner.call.ledger.newest.done)
        wire.down = False
        async with resumed(live, before, url) as after:
            await after.until("response.done")
            assert after.session_id == before.session_id and after.token != before.token
            assert numbers(before.events) + numbers(after.events) == list(range(1, after.last_seq + 1))
            assert sound_of(before.events) + sound_of(after.events) == expected
            await after.ask("Again.")
            await after.until("response.done")
        assert len(live.hub) == 1


async def test_what_was_sent_into_the_void_is_sent_again() -> None:
    async with serving(ScriptedEngine(script=LONG)) as live:
        async with talking(live.ws()) as talker:
            await talker.open()
            await talker.ask()
            await talker.until("response.done")
            await talker.vanish()
        talker.last_seq = numbers(talker.events)[4]
        kept = [event for event in talker.events if event.get("server_event_seq", 0) <= talker.last_seq]
        async with resumed(live, talker) as after:
            await after.until("response.done")
            assert numbers(kept) + numbers(after.events) == list(range(1, after.last_seq + 1))
            assert sound_of(after.events) == sound_of(talker.events)


async def test_another_socket_takes_over_and_the_first_is_told() -> None:
    async with serving() as live, talking(live.ws()) as first:
        await first.open()
        async with resumed(live, first) as second:
            code, reason = await first.closed()
            assert (code, reason) == (1000, "session_replaced")
            assert first.events[-1]["type"] == "session.replaced"
            await second.alive()
        assert len(live.hub) == 1


async def test_tokens_rotate_and_old_ones_are_refused() -> None:
    async with serving() as live, talking(live.ws()) as first:
        await first.open()
        async with resumed(live, first) as second:
            await second.alive()
            async with talking(live.ws("duplex=1&resume=1")) as thief:
                await thief.send("session.resume", session_id=first.session_id, resume_token=first.token)
                await thief.error("invalid_resume_token")
                assert (await thief.closed())[0] == 1008
            await second.alive()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"resume_token": "wrong"}, "invalid_resume_token"),
        ({"session_id": "call_nobody"}, "session_resume_expired"),
        ({"last_received_server_event_seq": 10_000}, "session_resume_conflict"),
    ],
)
async def test_a_resume_that_cannot_be_is_refused_by_name(changes: dict[str, object], code: str) -> None:
    async with serving() as live, talking(live.ws()) as owner:
        await owner.open()
        async with talking(live.ws("duplex=1&resume=1")) as other:
            fields = {"session_id": owner.session_id, "resume_token": owner.token, "event_id": "event_r", **changes}
            await other.raw(json.dumps({"type": "session.resume", **fields}))
            assert (await other.error(code))["event_id"] == "event_r"
            assert (await other.closed())[0] == 1008
        await owner.alive()


async def test_a_client_that_does_not_return_frees_its_line() -> None:
    engine = ScriptedEngine(max_sessions=1)
    async with serving(engine, grace_s=0.1) as live:
        async with talking(live.ws()) as gone:
            await gone.open()
            await gone.vanish()
        await eventually(lambda: live.hub.ended.get("disconnect_grace_expired") == 1)
        assert not engine.sessions
        async with talking(live.ws("duplex=1&resume=1")) as late:
            await late.send("session.resume", session_id=gone.session_id, resume_token=gone.token)
            await late.error("session_resume_expired")
        async with talking(live.ws()) as other:
            await other.open()


async def test_an_openai_client_that_leaves_frees_its_line_at_once() -> None:
    async with serving(ScriptedEngine(max_sessions=1)) as live:
        for _ in range(3):
            async with talking(live.ws("model=any")) as talker:
                assert (await talker.until("session.created", "omnitalk.queue"))["type"] in ("session.created", "omnitalk.queue")
        await eventually(lambda: not len(live.hub))
        assert set(live.hub.ended) <= {"client_gone", "client_close"}


async def test_a_client_that_closes_properly_without_a_word_has_hung_up() -> None:
    async with serving(ScriptedEngine(max_sessions=1)) as live:
        async with talking(live.ws()) as talker:
            await talker.open()
        await eventually(lambda: live.hub.ended == {"client_close": 1})


@pytest.mark.parametrize(("code", "calls_left"), [(1000, 0), (1001, 0), (None, 1)], ids=["goodbye", "page closed", "vanished"])
async def test_only_a_client_that_may_return_keeps_its_line(code: int | None, calls_left: int) -> None:
    async with serving(ScriptedEngine()) as live:
        async with talking(live.ws()) as talker:
            await talker.open()
            [runner] = live.hub
            if code is None:
                await talker.vanish()
            else:
                await talker.socket.close(code)
            await eventually(lambda: not runner.call.lease.attached or runner.call.closed is not None)
        await eventually(lambda: len(live.hub) == calls_left)
