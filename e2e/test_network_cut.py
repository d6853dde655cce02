"""The network goes away for five seconds in the middle of a reply: the same call goes on, nothing is lost, nothing is said twice."""

import difflib
import re
from collections.abc import Callable

import numpy as np
import pytest

from .support.browser import Caller, Heard, opened
from .support.proxy import Proxy, proxied
from .support.recogniser import transcribe
from .support.server import Server
from .support.speech import say

OUTAGE_MS = 5_000
LOST_OR_REPEATED_MS = 200


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _sounding_ms(heard: Heard) -> float:
    """Length of what was heard, without the pause of more than a second that an outage may make."""
    block = heard.rate // 100
    levels = np.sqrt(np.mean(heard.samples[: len(heard.samples) // block * block].reshape(-1, block) ** 2, axis=1))
    loud = np.flatnonzero(levels > 0.003)
    gaps = np.diff(loud)
    return float(10 * (loud[-1] - loud[0] + 1 - np.sum(gaps[gaps > 100] - 1)))


def _sent_ms(caller: Caller) -> float:
    """Length of the reply's sound as the server numbered it, each event once."""
    acknowledged = caller.log("playback.acknowledged")[-1]["event"]["event"]["playback"]
    return float(acknowledged["generated_ms"])


@pytest.mark.parametrize(
    ("outage", "resumes"), [pytest.param(Proxy.cut, 1, id="connection reset"), pytest.param(Proxy.freeze, 0, id="silent network")]
)
def test_a_reply_survives_an_outage_of_five_seconds(cascade_server: Server, outage: Callable[[Proxy], None], resumes: int) -> None:
    with (
        proxied(cascade_server.port) as proxy,
        opened(f"http://127.0.0.1:{proxy.port}/?transport=websocket", scripted_mouth=True) as caller,
    ):
        caller.call()
        call_id = caller.log("session.created")[0]["event"]["session"]["id"]
        caller.say(say("Tell me about the history of the ocean."))
        caller.wait("session.state.activity === 'speaking'")
        caller.page.wait_for_timeout(400)
        outage(proxy)
        caller.page.wait_for_timeout(OUTAGE_MS)
        proxy.restore()
        caller.wait("session.state.phase === 'live'")
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 40)
        caller.wait("session.state.activity === 'listening'", 40)
        caller.page.wait_for_timeout(500)
        assert len(caller.log("session.resumed")) >= resumes
        assert all(entry["event"]["session"]["id"] == call_id for entry in caller.log("session.resumed"))
        heard = caller.heard()
        reply = caller.transcript("assistant")[0]
        likeness = difflib.SequenceMatcher(None, _words(transcribe(heard.at_16k())), _words(reply)).ratio()
        assert likeness > 0.8, "words were lost or said twice"
        assert abs(_sounding_ms(heard) - _sent_ms(caller)) < LOST_OR_REPEATED_MS + 300  # replies start and end with a little silence
        # The same conversation goes on.
        caller.say(say("What is the capital of France?"))
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 2", 40)
        assert "Paris" in caller.transcript("assistant")[-1]
