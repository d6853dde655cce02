"""A path that dies does not end the call: the client makes another and goes on, over whatever carries it."""

from typing import Any

from omnitalk.engines.scripted import Reply, Script, ScriptedEngine
from omnitalk.transports.webrtc.peer import Peer

from tests.websocket.live import DUPLEX, Live, eventually, serving, talking

from .caller import Caller, calling, loud

LONG = Script(replies=(Reply(words="one two three four five six", seconds=30.0),), pace=4.0)


def ticket(caller: Caller, created: dict[str, Any]) -> dict[str, Any]:
    last = max(event.get("server_event_seq", 0) for event in caller.events)
    return {
        "session_id": caller.call_id,
        "resume_token": created["resume_token"],
        "last_received_server_event_seq": last,
    }


async def lose(live: Live) -> None:
    """What aioice does when a peer has not answered for half a minute."""
    import gc

    for peer in [each for each in gc.get_objects() if isinstance(each, Peer)]:
        transceiver = peer._connection.getTransceivers()[0]
        await transceiver.receiver.transport.transport._connection.close()


async def test_a_lost_path_is_replaced_by_a_new_offer_and_the_reply_goes_on() -> None:
    async with serving(ScriptedEngine(script=LONG)) as live:
        async with calling(live, "duplex=1") as caller:
            created = await caller.until("session.created")
            caller.ask()
            await caller.hears(loud)
            await lose(live)
            await eventually(lambda: all(runner.call.attachment is None for runner in live.hub))
            assert len(live.hub) == 1
            pass_on = ticket(caller, created)
        async with calling(live, resume=pass_on) as again:
            resumed = await again.until("session.resumed")
            assert resumed["session"]["id"] == caller.call_id == again.call_id
            await again.hears(loud)
            again.send("session.close")
            await again.until("session.closed")


async def test_a_lost_path_ends_the_call_of_a_client_that_never_returns() -> None:
    async with serving() as live, calling(live) as caller:
        await caller.until("session.created")
        await lose(live)
        await eventually(lambda: len(live.hub) == 0)
        assert live.hub.ended == {"client_gone": 1}


async def test_a_websocket_takes_over_while_the_peer_is_still_there() -> None:
    async with serving(ScriptedEngine(script=LONG)) as live, calling(live, "duplex=1") as caller:
        created = await caller.until("session.created")
        caller.ask()
        await caller.hears(loud)
        async with talking(live.ws(DUPLEX)) as talker:
            await talker.send("session.resume", **ticket(caller, created))
            await talker.until("session.resumed")
            await talker.until("response.output_audio.delta")
            await caller.until("session.replaced")
            await eventually(caller.closed.is_set)
            assert len(live.hub) == 1
            await talker.hang_up()


async def test_a_peer_takes_over_from_a_websocket() -> None:
    async with serving(ScriptedEngine(script=LONG)) as live, talking(live.ws(DUPLEX)) as talker:
        await talker.open()
        await talker.ask()
        await talker.until("response.output_audio.delta")
        resume = {"session_id": talker.session_id, "resume_token": talker.token, "last_received_server_event_seq": talker.last_seq}
        async with calling(live, resume=resume) as caller:
            await caller.until("session.resumed")
            await caller.hears(loud)
            assert (await talker.closed())[1] == "session_replaced"


async def test_a_ticket_is_good_once() -> None:
    async with serving() as live, calling(live, "duplex=1") as caller:
        created = await caller.until("session.created")
        good = ticket(caller, created)
        for wrong, status, code in (
            ({**good, "resume_token": "another"}, 403, "invalid_resume_token"),
            ({**good, "session_id": "call_0"}, 404, "session_resume_expired"),
            ({**good, "last_received_server_event_seq": 10_000}, 409, "session_resume_conflict"),
            ({"session_id": caller.call_id}, 400, "bad_event"),
        ):
            other = Caller(live)
            try:
                response = await other.post(resume=wrong)
                assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text
            finally:
                await other.close()
        # The caller who is there noticed nothing of it.
        caller.send("session.heartbeat")
        await caller.until("session.heartbeat_ack")


async def test_a_caller_whose_network_lets_no_media_through_goes_on_over_a_websocket() -> None:
    async with serving() as live:
        caller = Caller(live)
        try:
            response = await caller.post("duplex=1", session={"instructions": "be brief"})
            assert response.status_code == 201, response.text
            resume = {
                "session_id": response.headers["location"].rsplit("/", 1)[-1],
                "resume_token": response.headers["omnitalk-resume-token"],
                "last_received_server_event_seq": 0,
            }
            async with talking(live.ws(DUPLEX)) as talker:
                await talker.send("session.resume", **resume)
                resumed = await talker.until("session.resumed")
                assert resumed["session"]["instructions"] == "be brief"
                await talker.ask()
                await talker.until("response.output_audio.delta")
                assert len(live.hub) == 1
                await talker.hang_up()
        finally:
            await caller.close()


async def test_a_client_that_cannot_return_is_given_no_token() -> None:
    async with serving() as live:
        caller = Caller(live)
        try:
            response = await caller.post()
            assert response.status_code == 201, response.text
            assert "omnitalk-resume-token" not in response.headers
        finally:
            await caller.close()
