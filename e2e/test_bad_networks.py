"""The page behind real networks of the bad kind: it takes the path that is there, and what is said is heard and answered."""

import difflib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import network
from .support.browser import Caller, opened
from .support.network import HERE, Place, Wire, behind_a_wire
from .support.recogniser import transcribe
from .support.server import Server, serving
from .support.speech import say

QUESTION = "What is the capital of France?"
STORY = "Tell me about the history of the ocean."
SECRET = "a secret"

reason = network.missing()
pytestmark = pytest.mark.skipif(reason is not None, reason=reason or "")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with behind_a_wire(tmp_path_factory.mktemp("place")) as place:
        yield place


@pytest.fixture
def wire(there: Place) -> Iterator[Wire]:
    """As good as a wire can be, before and after each test."""

    def mend() -> None:
        wire = there.wire
        wire.open = wire.udp = True
        wire.loss = wire.delay_ms = wire.jitter_ms = 0.0

    mend()
    yield there.wire
    mend()


@pytest.fixture(scope="module")
def server(there: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server") / "server.log", "--engine", "cascade", "--host", "0.0.0.0") as server:
        yield server


def at(server: Server, query: str = "") -> str:
    return f"http://{HERE}:{server.port}/{query}"


def transport(caller: Caller) -> tuple[str, str]:
    found = caller.session("session.state.transport")
    return found["kind"], found["why"]


def is_answered(caller: Caller, answers: int = 1) -> None:
    """Asks aloud, waits until the answer has been heard out, and listens to it with a recogniser."""
    caller.say(say(QUESTION))
    caller.wait(f"session.transcript.filter(line => line.role === 'assistant' && line.final).length >= {answers}", 60)
    caller.wait("session.state.activity === 'listening'", 60)
    assert "Paris" in caller.transcript("assistant")[-1]
    assert "Paris" in transcribe(caller.heard().at_16k())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def test_an_open_network_carries_the_sound_itself(server: Server, there: Place, wire: Wire) -> None:
    with opened(at(server), scripted_mouth=True, place=there) as caller:
        caller.call()
        assert transport(caller) == ("webrtc", "best")
        is_answered(caller)


def test_where_udp_is_blocked_the_socket_carries_the_call(server: Server, there: Place, wire: Wire) -> None:
    wire.udp = False
    with opened(at(server), scripted_mouth=True, place=there) as caller:
        caller.call()
        assert transport(caller) == ("websocket", "no_media")
        is_answered(caller)


@pytest.mark.skipif(shutil.which("turnserver") is None, reason="needs coturn (apt-get install coturn)")
def test_where_udp_is_blocked_a_turn_server_over_tcp_carries_the_sound(there: Place, wire: Wire, tmp_path: Path) -> None:
    port = 34_780
    command = ["turnserver", "-n", "--listening-ip", HERE, "--relay-ip", HERE, "--listening-port", str(port), "--no-udp"]
    command += ["--min-port", "49160", "--max-port", "49260", "--use-auth-secret", "--static-auth-secret", SECRET, "--realm", "test"]
    command += ["--no-tls", "--no-dtls", "--no-cli", "--log-file", "stdout", "--pidfile", str(tmp_path / "pid")]
    arguments = ("--engine", "cascade", "--host", "0.0.0.0", "--webrtc-address", HERE, "--ice-server", f"turn:{HERE}:{port}?transport=tcp")
    with (tmp_path / "turn.log").open("wb") as log:
        relay = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path)
    wire.udp = False
    try:
        with (
            serving(tmp_path / "server.log", *arguments, variables={"OMNITALK_TURN_SECRET": SECRET}) as server,
            opened(at(server), scripted_mouth=True, place=there) as caller,
        ):
            caller.call()
            assert transport(caller) == ("webrtc", "best")
            is_answered(caller)
    finally:
        relay.terminate()
        relay.wait(10)


def test_two_percent_loss_and_thirty_ms_of_jitter_are_talked_over(server: Server, there: Place, wire: Wire) -> None:
    with opened(at(server), scripted_mouth=True, place=there) as caller:
        wire.loss, wire.delay_ms, wire.jitter_ms = 0.02, 10.0, 30.0
        caller.call()
        assert transport(caller) == ("webrtc", "best")
        dropped = wire.dropped
        is_answered(caller)
        assert wire.dropped > dropped
        assert transport(caller)[0] == "webrtc"


def test_after_five_seconds_without_any_network_the_same_call_goes_on(server: Server, there: Place, wire: Wire) -> None:
    with opened(at(server), scripted_mouth=True, place=there) as caller:
        caller.call()
        call_id = caller.log("session.created")[0]["event"]["session"]["id"]
        caller.say(say(STORY))
        caller.wait("session.state.activity === 'speaking'", 40)
        caller.page.wait_for_timeout(400)
        wire.open = False
        caller.page.wait_for_timeout(5_000)
        wire.open = True
        caller.wait("session.state.phase === 'live'")
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 60)
        caller.wait("session.state.activity === 'listening'", 60)
        reply = words(caller.transcript("assistant")[0])
        likeness = difflib.SequenceMatcher(None, words(transcribe(caller.heard().at_16k())), reply).ratio()
        assert likeness > 0.7, "words were lost or said twice"
        is_answered(caller, answers=2)
        assert {entry["event"]["session"]["id"] for entry in caller.log("session.resumed")} <= {call_id}
