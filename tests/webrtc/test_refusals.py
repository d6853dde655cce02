"""What is wrong with an offer is said by name, and costs no line."""

import asyncio
import json
import re

import httpx
import pytest
from omnitalk.api.state import state_of_app
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.protocol.errors import ProtocolError
from omnitalk.transports.webrtc.sdp import MAX_OFFER_BYTES, publish, read_offer

from tests.websocket.live import Live, eventually, serving

from .caller import Caller, calling

SDP = {"content-type": "application/sdp"}


async def offer_of(live: Live, *, video: bool = False) -> str:
    caller = Caller(live, video=video)
    try:
        await caller.place()
        return await caller.offer()
    finally:
        await caller.close()


def web(live: Live) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://{live.host}", trust_env=False, timeout=20)


def code(response: httpx.Response) -> str:
    problem = response.json()["error"]
    assert len(problem["message"]) > 20 and problem["type"]
    return str(problem["code"])


def without(offer: str, pattern: str) -> str:
    return re.sub(pattern, "", offer, flags=re.MULTILINE)


async def test_offers_that_cannot_be_answered() -> None:
    async with serving() as live, web(live) as client:
        good = await offer_of(live)
        bad = {
            "": "v=0",
            "hello": "v=0",
            "v=0\r\n": "audio",
            "v=0\r\n" + "x" * MAX_OFFER_BYTES: "at most",
            "v=0\r\nm=audio\r\n": "cannot be read",
            good.split("m=application")[0]: "data channel",
            without(good, r"^a=fingerprint.*\r\n"): "fingerprint",
            without(good, r"^a=ice-pwd.*\r\n"): "ICE credentials",
            without(good, r"^a=group:BUNDLE.*\r\n"): "BUNDLE",
            good.replace("opus/48000", "mystery/48000"): "Opus",
            good + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:9\r\n": "data channel",
        }
        for text, word in bad.items():
            response = await client.post("/v1/realtime/calls", content=text, headers=SDP)
            assert (response.status_code, code(response)) == (400, "invalid_offer"), text[:60]
            assert word in response.json()["error"]["message"], response.text
        assert live.hub.opened == 0


async def test_forms_that_cannot_be_read() -> None:
    async with serving() as live, web(live) as client:
        offer = await offer_of(live)
        for session, status, name in (
            ("{", 400, "invalid_json"),
            ("[]", 400, "bad_event"),
            ('{"audio": {"input": {"turn_detection": {"type": "magic"}}}}', 400, "bad_event"),
            ('{"instructions": 7}', 400, "bad_event"),
        ):
            response = await client.post("/v1/realtime/calls", files={"sdp": (None, offer), "session": (None, session)})
            assert response.status_code == status and code(response), response.text
            assert name in (code(response), "bad_event")
        assert code(await client.post("/v1/realtime/calls", content=offer)) == "unsupported_media_type"
        assert code(await client.post("/v1/realtime/calls", json={"sdp": offer})) == "unsupported_media_type"
        assert code(await client.post("/v1/realtime/calls", content=b"\xff\xfe", headers=SDP)) == "invalid_offer"
        large = await client.post("/v1/realtime/calls", content=b"v" * 600_000, headers=SDP)
        assert (large.status_code, code(large)) == (413, "body_too_large")
        large = await client.post("/v1/realtime/calls", files={"sdp": (None, "v" * 600_000)})
        assert (large.status_code, code(large)) == (413, "body_too_large")
        broken = await client.post(
            "/v1/realtime/calls", content=b"--x\r\nnonsense", headers={"content-type": "multipart/form-data; boundary=x"}
        )
        assert broken.status_code == 400
        assert live.hub.opened == 0


async def test_when_every_line_is_busy_or_the_model_is_not_ready() -> None:
    async with serving(max_calls=1) as live, calling(live), web(live) as client:
        response = await client.post("/v1/realtime/calls", content=await offer_of(live), headers=SDP)
        assert (response.status_code, code(response)) == (429, "resource_exhausted")
        assert response.headers["retry-after"]
        assert live.hub.admission.waiting == 0
    async with serving(ScriptedEngine(loading=60.0), ready=False) as live, web(live) as client:
        response = await client.post("/v1/realtime/calls", content=await offer_of(live), headers=SDP)
        assert (response.status_code, code(response)) == (503, "engine_not_ready")


async def test_a_page_of_another_origin_may_only_call_when_it_was_allowed() -> None:
    async with serving(allow_origin=["https://friend.example"]) as live, web(live) as client:
        for method, path in (
            ("POST", "/v1/realtime/calls"),
            ("DELETE", "/v1/realtime/calls/call_1"),
            ("OPTIONS", "/v1/realtime/calls"),
            ("GET", "/v1/realtime/ice_servers"),
        ):
            response = await client.request(method, path, headers={"origin": "https://stranger.example"})
            assert (response.status_code, code(response)) == (403, "origin_not_allowed")
            assert "access-control-allow-origin" not in response.headers
        friend = {"origin": "https://friend.example", "access-control-request-headers": "authorization,content-type"}
        asked = await client.options("/v1/realtime/calls", headers=friend)
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == "https://friend.example"
        assert asked.headers["access-control-allow-headers"] == "authorization,content-type"
        answered = await client.post("/v1/realtime/calls", content="", headers={**SDP, **friend})
        assert code(answered) == "invalid_offer" and "Location" in answered.headers["access-control-expose-headers"]


async def test_without_webrtc_the_caller_is_sent_to_the_socket() -> None:
    async with serving(webrtc=False) as live, web(live) as client:
        response = await client.post("/v1/realtime/calls", content="v=0", headers=SDP)
        assert (response.status_code, code(response)) == (501, "webrtc_unavailable")
        assert "v1/realtime" in response.json()["error"]["message"]
        assert (await client.get("/config")).json()["webrtc"] is None


async def test_pictures_that_are_offered_are_declined_and_the_call_goes_on() -> None:
    async with serving() as live:
        caller = Caller(live, video=True)
        try:
            await caller.dial()
            video = caller.connection.remoteDescription.sdp.split("m=video")[1].split("m=")[0]
            assert "a=inactive" in video
            await caller.until("session.created")
        finally:
            await caller.close()
        await eventually(lambda: len(live.hub) == 0)


async def test_a_port_range_that_is_used_up_refuses_the_call_and_keeps_no_line() -> None:
    async with serving(webrtc_ports="47000-47000", webrtc_address=["127.0.0.1"]) as live, calling(live), web(live) as client:
        response = await client.post("/v1/realtime/calls", content=await offer_of(live), headers=SDP)
        assert (response.status_code, code(response)) == (429, "resource_exhausted")
        await eventually(lambda: len(live.hub) == 1)


async def test_turn_credentials_are_made_for_the_asking() -> None:
    servers = ["stun:stun.example:3478", "turn:turn.example:3478?transport=tcp"]
    async with serving(ice_server=servers, turn_secret="s3cret") as live, web(live) as client:
        body = (await client.get("/v1/realtime/ice_servers")).json()
        stun, turn = body["ice_servers"]
        assert stun == {"urls": [servers[0]]} and turn["urls"] == [servers[1]]
        assert turn["username"].split(":")[0].isdigit() and turn["credential"]
        assert "s3cret" not in json.dumps((await client.get("/config")).json())


def test_a_public_address_takes_the_place_of_the_private_one_of_its_family() -> None:
    answer = (
        "v=0\r\nc=IN IP4 10.0.0.5\r\na=candidate:1 1 udp 2130706431 10.0.0.5 50000 typ host\r\n"
        "a=candidate:2 1 udp 2130706431 fd00::5 50001 typ host\r\n"
    )
    public = publish(answer, "203.0.113.7")
    assert "10.0.0.5" not in public and public.count("203.0.113.7") == 2 and "fd00::5 50001" in public
    assert publish(answer, None) == answer
    assert "10.0.0.5 50000" in publish(answer, "2001:db8::1") and "2001:db8::1 50001" in publish(answer, "2001:db8::1")


async def test_the_peers_candidates_are_not_used() -> None:
    async with serving() as live:
        offer = await offer_of(live)
        assert "a=candidate" in offer
        assert "a=candidate" not in read_offer(offer) and "a=end-of-candidates" not in read_offer(offer)
        with pytest.raises(ProtocolError):
            read_offer("m=audio")


async def test_requests_that_break_off_leave_no_call() -> None:
    async with serving() as live:
        offer = (await offer_of(live)).encode()
        for sent in (0, 10, len(offer)):
            host, port = live.host.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = (
                f"POST /v1/realtime/calls HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\nContent-Length: {len(offer) + 1}\r\n\r\n"
            )
            writer.write(head.encode() + offer[:sent])
            await writer.drain()
            writer.transport.abort()
        await asyncio.sleep(0.1)
        assert live.hub.opened == 0 and len(state_of_app(live.app).carriers) == 0
