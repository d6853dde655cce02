"""The page over each path, and from one to the other: what is said is heard and answered, and it is the same call."""

import difflib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from omnitalk.api.auth.keys import Keyring, add_key
from omnitalk.api.auth.tokens import sign

from .support.browser import Caller, opened
from .support.proxy import proxied
from .support.recogniser import transcribe
from .support.server import Server, serving
from .support.speech import say
from .support.udp import Relay, free_ports, relaying

QUESTION = "What is the capital of France?"


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def ask(caller: Caller, answers: int = 1) -> None:
    """Asks aloud and waits until the answer has been heard out."""
    caller.say(say(QUESTION))
    caller.wait(f"session.transcript.filter(line => line.role === 'assistant' && line.final).length === {answers}", 40)
    caller.wait("session.state.activity === 'listening'", 40)


@pytest.mark.parametrize("path", ["webrtc", "websocket"])
def test_a_spoken_question_is_answered_over_either_path(cascade_server: Server, path: str) -> None:
    with opened(f"{cascade_server.url}/?transport={path}", scripted_mouth=True) as caller:
        caller.call()
        transport = caller.session("session.state.transport")
        assert (transport["kind"], transport["why"]) == (path, "chosen")
        ask(caller)
        assert "Paris" in transcribe(caller.heard().at_16k())
        assert caller.errors == []


def test_by_itself_the_page_takes_webrtc(cascade_server: Server) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        caller.call()
        transport = caller.session("session.state.transport")
        assert (transport["kind"], transport["why"], transport["state"]) == ("webrtc", "best", "open")
        ask(caller)
        assert "Paris" in transcribe(caller.heard().at_16k())


def test_a_server_without_webrtc_is_called_over_the_socket(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--engine", "scripted", "--no-webrtc") as server, opened(server.url, ear=False) as caller:
        caller.call()
        transport = caller.session("session.state.transport")
        assert (transport["kind"], transport["why"]) == ("websocket", "no_webrtc")


@pytest.fixture(scope="module")
def relayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Relay]]:
    """The embedded engine, and a relay between its media ports and the browser."""
    first, count = free_ports(12), 12
    log = tmp_path_factory.mktemp("server") / "server.log"
    arguments = ("--engine", "cascade", "--webrtc-ports", f"{first}-{first + count - 1}", "--webrtc-address", "127.0.0.1")
    with relaying(first, count) as relay, serving(log, *arguments) as server:
        yield server, relay


@pytest.fixture
def network(relayed: tuple[Server, Relay]) -> Iterator[tuple[Server, Relay]]:
    """The same, open at the beginning of each test."""
    relayed[1].open = True
    yield relayed


def test_where_no_media_gets_through_the_socket_takes_the_same_call_up(network: tuple[Server, Relay]) -> None:
    server, relay = network
    relay.open = False
    with opened(server.url, scripted_mouth=True, script=relay.script) as caller:
        begun = time.monotonic()
        caller.call()
        assert time.monotonic() - begun < 10, "the person waited for a path that is not there"
        transport = caller.session("session.state.transport")
        assert (transport["kind"], transport["why"]) == ("websocket", "no_media")
        # The call that the offer opened, not a second one.
        assert len(caller.session("session.events.filter(event => event.type === 'session.resumed')")) == 1
        ask(caller)
        assert "Paris" in transcribe(caller.heard().at_16k())
        assert "omnitalk_calls_live 1" in httpx.get(f"{server.url}/metrics").text


def test_a_key_with_one_place_is_enough_for_a_call_that_changes_its_path(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    add_key(file, "anna")
    file.write_text(file.read_text().rstrip() + " at_once=1\n")
    token = sign(Keyring.read(file).secret, "link", "anna", time.time() + 600)
    first = free_ports(4)
    media = ("--webrtc-ports", f"{first}-{first + 3}", "--webrtc-address", "127.0.0.1")
    with (
        relaying(first, 4) as relay,
        serving(tmp_path / "log", "--engine", "scripted", "--auth", str(file), *media) as server,
        opened(f"{server.url}/signin?token={token}", ear=False, script=relay.script) as caller,
    ):
        relay.open = True
        caller.call()
        assert caller.session("session.state.transport.kind") == "webrtc"
        relay.open = False
        caller.wait("session.state.transport.kind === 'websocket' && session.state.phase === 'live'", 15)
        relay.open = True
        caller.wait("session.state.transport.kind === 'webrtc' && session.state.phase === 'live'", 40)
        assert len(caller.log("session.created")) == 1
        assert len(caller.log("session.resumed")) == 2


def test_when_the_path_dies_in_a_reply_the_socket_goes_on_and_later_the_page_returns(network: tuple[Server, Relay]) -> None:
    server, relay = network
    with opened(server.url, scripted_mouth=True, script=relay.script) as caller:
        caller.call()
        assert caller.session("session.state.transport.kind") == "webrtc"
        call_id = caller.log("session.created")[0]["event"]["session"]["id"]
        caller.say(say("Tell me about the history of the ocean."))
        caller.wait("session.state.activity === 'speaking'")
        caller.page.wait_for_timeout(1_000)
        relay.open = False
        caller.wait("session.state.transport.kind === 'websocket' && session.state.phase === 'live'", 10)
        assert caller.session("session.state.transport.why") == "path_died"
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 40)
        caller.wait("session.state.activity === 'listening'", 60)
        relay.open = True
        caller.wait("session.state.transport.kind === 'webrtc' && session.state.phase === 'live'", 40)
        ask(caller, answers=2)
        assert "Paris" in caller.transcript("assistant")[-1]
        assert {entry["event"]["session"]["id"] for entry in caller.log("session.resumed")} == {call_id}


def test_an_outage_of_five_seconds_loses_next_to_nothing_of_a_reply(network: tuple[Server, Relay]) -> None:
    """Both ways are gone, and come back; whichever is first goes on with the same call."""
    server, relay = network
    with proxied(server.port) as proxy, opened(f"http://127.0.0.1:{proxy.port}", scripted_mouth=True, script=relay.script) as caller:
        caller.call()
        assert caller.session("session.state.transport.kind") == "webrtc"
        caller.say(say("Tell me about the history of the ocean."))
        caller.wait("session.state.activity === 'speaking'")
        caller.page.wait_for_timeout(400)
        relay.open = False
        proxy.freeze()
        caller.page.wait_for_timeout(5_000)
        relay.open = True
        proxy.restore()
        caller.wait("session.state.phase === 'live'")
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 40)
        caller.wait("session.state.activity === 'listening'", 60)
        caller.page.wait_for_timeout(500)
        reply = words(caller.transcript("assistant")[0])
        likeness = difflib.SequenceMatcher(None, words(transcribe(caller.heard().at_16k())), reply).ratio()
        assert likeness > 0.8, "words were lost or said twice"
        ask(caller, answers=2)
        assert "Paris" in caller.transcript("assistant")[-1]
