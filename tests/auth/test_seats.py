"""A key's calls: each has one place from its beginning to its end, over whatever carries it."""

from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.webrtc.caller import Caller, calling
from tests.websocket.live import DUPLEX, Event, Live, Talker, eventually, serving, talking

from .test_guard import bearer, refused, web

RETURNS = f"{DUPLEX}&resume=1"


@pytest.fixture
def one(file: Path, key: str) -> dict[str, str]:
    """Headers of a key that may have one call at once."""
    lines = [line + " at_once=1" if "anna" in line else line for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    return bearer(key)


def ticket(caller: Caller, token: str) -> dict[str, str | int]:
    last = max(event.get("server_event_seq", 0) for event in caller.events)
    return {"session_id": caller.call_id, "resume_token": token, "last_received_server_event_seq": last}


async def offer(live: Live, headers: dict[str, str], query: str = "", *, session: Event | None = None) -> httpx.Response:
    """The server's answer to an offer that it should refuse."""
    caller = Caller(live, headers=headers)
    try:
        return await caller.post(query, session=session)
    finally:
        await caller.close()


async def resume(socket: Talker, was: Talker) -> None:
    claim = {"session_id": was.session_id, "resume_token": was.token, "last_received_server_event_seq": was.last_seq}
    await socket.send("session.resume", **claim)
    await socket.until("session.resumed")


async def test_a_call_over_webrtc_takes_one_place_and_gives_it_back(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live, web(live, headers=one) as client:
        async with calling(live, headers=one) as caller:
            await caller.until("session.created")
            assert (await offer(live, one)).status_code == 429
            assert await refused(live, additional_headers=one) == 429
            # What ends it is never refused, nor what helps to find the way.
            assert (await client.get("/v1/realtime/ice_servers")).status_code == 200
            assert (await client.delete(caller.location)).status_code == 200
        await eventually(lambda: len(live.hub) == 0)
        async with talking(live.ws(DUPLEX), additional_headers=one) as socket:
            await socket.open()


async def test_a_caller_returns_to_a_call_whose_connection_hangs(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live, talking(live.ws(DUPLEX), additional_headers=one) as lost:
        await lost.open()
        async with talking(live.ws(RETURNS), additional_headers=one) as socket:
            await resume(socket, lost)
            assert await refused(live, additional_headers=one) == 429
            await socket.hang_up()
        await eventually(lambda: len(live.hub) == 0)
        async with talking(live.ws(DUPLEX), additional_headers=one) as socket:
            await socket.open()


async def test_a_live_call_changes_its_path_and_back(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live, calling(live, "duplex=1", headers=one) as caller:
        created = await caller.until("session.created")
        async with talking(live.ws(RETURNS), additional_headers=one) as socket:
            claim = ticket(caller, created["resume_token"])
            await socket.send("session.resume", **claim)
            resumed = await socket.until("session.resumed")
            back = {**claim, "resume_token": resumed["resume_token"], "last_received_server_event_seq": socket.last_seq}
            async with calling(live, "duplex=1&resume=1", headers=one, resume=back) as again:
                await again.until("session.resumed")
                assert await refused(live, additional_headers=one) == 429


async def test_a_call_whose_connection_is_lost_keeps_its_place(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live:
        async with talking(live.ws(DUPLEX), additional_headers=one) as lost:
            await lost.open()
            await lost.vanish()
        await eventually(lambda: all(runner.call.attachment is None for runner in live.hub))
        # Else one key could take every line by dropping one call after the other.
        assert await refused(live, additional_headers=one) == 429
        async with talking(live.ws(RETURNS), additional_headers=one) as socket:
            await resume(socket, lost)


async def test_who_says_they_return_cannot_begin_a_call(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live:
        async with talking(live.ws(RETURNS), additional_headers=one) as socket:
            await socket.send("session.update", session={})
            await socket.error("invalid_session_resume")
            assert (await socket.closed())[0] == 1008
        answer = await offer(live, one, "resume=1")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_session_resume")
        assert len(live.hub) == 0


async def test_a_socket_that_comes_to_nothing_leaves_no_trace(file: Path, one: dict[str, str]) -> None:
    async with serving(auth=file) as live:
        for _ in range(3):
            async with connect(live.ws(DUPLEX), additional_headers=one):
                pass
            answer = await offer(live, one, session={"temperature": "hot"})
            assert answer.status_code == 400
        async with talking(live.ws(DUPLEX), additional_headers=one) as socket:
            await socket.open()
