"""What is reached into inside aiortc and aioice is still there and does what it is relied on for; other versions are refused."""

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import Awaitable
from importlib.metadata import version
from types import SimpleNamespace
from typing import cast

import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpReceiver
from omnitalk.protocol.json_codec import encode_server
from omnitalk.protocol.server import ConversationItemRetrieved, OmnitalkState
from omnitalk.transports.webrtc import inside
from omnitalk.transports.webrtc.ear import Ear
from omnitalk.transports.webrtc.fitting import MAX_MESSAGE_BYTES, fit
from omnitalk.transports.webrtc.ice import ice_servers, media_addresses

from tests.websocket.live import serving

from .caller import calling


def test_the_versions_installed_are_those_it_was_written_for() -> None:
    inside.require()


@pytest.mark.parametrize(("package", "found"), [("aiortc", "1.17.0"), ("aiortc", "1.1.6"), ("aioice", "0.14.1"), ("aioice", "1.0")])
def test_another_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, package: str, found: str) -> None:
    monkeypatch.setattr(f"{inside.__name__}.version", lambda name: found if name == package else version(name))
    with pytest.raises(inside.Unsupported, match=rf"{package} .* and {re.escape(found)} is installed: pip install"):
        inside.require()


def test_a_receiver_without_its_buffer_is_refused() -> None:
    with pytest.raises(inside.Unsupported):
        inside.hear_with(cast(RTCRtpReceiver, SimpleNamespace()), Ear(lambda sound: None))


async def test_an_answer_names_only_the_addresses_and_ports_that_were_opened() -> None:
    async with serving(webrtc_ports="47010-47019", webrtc_address=["127.0.0.1"]) as live, calling(live) as caller:
        answer = caller.connection.remoteDescription.sdp
        # Named again for each section, which all share it.
        [(address, port, kind)] = set(re.findall(r"a=candidate:\S+ 1 udp \d+ (\S+) (\d+) typ (\w+)", answer))
        assert (address, kind) == ("127.0.0.1", "host") and 47010 <= int(port) <= 47019


async def test_a_wait_for_a_peer_that_never_calls_ends_with_the_connection() -> None:
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    connection.createDataChannel("x")
    assert connection.sctp is not None
    transport = connection.sctp.transport.transport
    inside.place_sockets(transport, ["127.0.0.1"], None)
    inside.wait_to_be_called(transport)
    await transport.iceGatherer.gather()
    waiting = asyncio.ensure_future(cast(Awaitable[None], transport._connection.connect()))
    await asyncio.sleep(0)
    assert not waiting.done() and not inside.path_died(transport)
    await connection.close()
    with pytest.raises(ConnectionError):
        await waiting
    assert inside.path_died(transport)


def test_addresses_are_those_chosen_and_loopback_where_it_is_asked_for() -> None:
    assert media_addresses(["192.0.2.1"], loopback=True) == ["192.0.2.1"]
    assert "127.0.0.1" in media_addresses([], loopback=True)


def test_turn_credentials_are_coturns() -> None:
    urls = ["turn:a.example", "turns:b.example?transport=tcp", "stun:c.example"]
    stun, turn = ice_servers(urls, secret="north", ttl_s=600, user="call", now=lambda: 1_700_000_000.9)
    assert stun == {"urls": ["stun:c.example"]}
    assert turn["urls"] == urls[:2] and turn["username"] == "1700000600:call"
    expected = hmac.new(b"north", b"1700000600:call", hashlib.sha1).digest()
    assert base64.b64decode(turn["credential"]) == expected
    assert ice_servers([], secret="north", ttl_s=600, user="x") == []


def test_an_ordinary_event_is_sent_as_it_is() -> None:
    event = OmnitalkState(state="listening")
    assert fit(event) == encode_server(event)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "é" * 100_000, '"' * 60_000])
def test_a_large_event_keeps_its_shape_and_says_that_it_was_shortened(text: str) -> None:
    item = {"id": "item_1", "role": "user", "content": [{"type": "input_image", "image_url": text}, {"type": "input_text", "text": "hi"}]}
    sent = fit(ConversationItemRetrieved(event_id="event_9", item=item))
    assert len(sent.encode()) <= MAX_MESSAGE_BYTES
    read = json.loads(sent)
    assert (read["event_id"], read["type"], read["omnitalk_shortened"]) == ("event_9", "conversation.item.retrieved", True)
    picture, words = read["item"]["content"]
    assert words["text"] == "hi" and text.startswith(picture["image_url"]) and len(picture["image_url"]) > 100


def test_an_event_of_too_many_parts_is_named_and_no_more() -> None:
    sent = fit(ConversationItemRetrieved(event_id="event_9", item={"content": [{"n": n} for n in range(50_000)]}))
    assert len(sent) < MAX_MESSAGE_BYTES and json.loads(sent)["event_id"] == "event_9"
