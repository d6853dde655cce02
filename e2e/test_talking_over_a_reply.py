"""Talking over a reply: silence at once, nothing of it later, history holds what was heard. Noises only make it quieter."""

import numpy as np
import pytest

from .support.browser import Caller, Heard, opened
from .support.recogniser import transcribe
from .support.server import Server
from .support.speech import Samples, click, cough, say, silence, voiced

LONG_QUESTION = "Tell me about the history of the ocean."
SPEAKING = "session.state.activity === 'speaking'"


def _rms(samples: Samples) -> float:
    return float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0


def _start_a_long_reply(caller: Caller) -> None:
    caller.call()
    caller.say(say(LONG_QUESTION))
    caller.wait(SPEAKING)


def _after_the_cut(caller: Caller) -> tuple[Heard, int]:
    """What was heard, and where in it the page learned of the cut."""
    (cut,) = caller.log("output_audio_buffer.cleared")
    heard = caller.heard()
    return heard, heard.frame_at(cut["at"])


def test_speech_over_a_reply_silences_it_for_good_and_is_answered(cascade_server: Server) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        _start_a_long_reply(caller)
        caller.say(say("Please stop and tell me what is two plus two."))
        caller.wait("session.events.some(entry => entry.type === 'output_audio_buffer.cleared')")
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 2", 40)
        caller.wait("session.state.activity === 'listening'")
        heard, cut = _after_the_cut(caller)
        # From the decision on: at most a quantum and the fade, then not one sample until the next reply begins.
        next_reply = _first_sound_after(heard, cut + heard.rate // 4)
        assert next_reply is not None
        assert np.max(np.abs(heard.samples[cut + heard.rate // 20 : next_reply])) < 1e-4
        answer = Heard(heard.samples[next_reply:], heard.rate, 0, heard.wall)
        words = transcribe(answer.at_16k()).lower()
        assert "four" in words or "4" in words
        # The page shows the first reply as cut, with the words that were heard.
        first = caller.session("session.transcript.filter(line => line.role === 'assistant')[0]")
        assert first["interrupted"] is True
        assert len(first["text"].split()) < 40
        assert caller.errors == []


def test_escape_silences_a_reply_at_once(cascade_server: Server) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        _start_a_long_reply(caller)
        caller.page.wait_for_timeout(700)  # a person listens a moment
        caller.page.keyboard.press("Escape")
        caller.wait("session.events.some(entry => entry.type === 'output_audio_buffer.cleared')")
        caller.wait("session.state.activity === 'listening'")
        caller.page.wait_for_timeout(500)
        heard, cut = _after_the_cut(caller)
        assert _rms(heard.samples[: cut - heard.rate // 10]) > 0.003
        assert np.max(np.abs(heard.samples[cut + heard.rate // 20 :])) < 1e-4


@pytest.mark.parametrize(
    "noise",
    [pytest.param(click(), id="60 ms click"), pytest.param(cough(), id="cough"), pytest.param(voiced(say("Mm-hm.")), id="mm-hm")],
)
def test_a_noise_or_a_backchannel_does_not_cut_a_reply(cascade_server: Server, noise: Samples) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        _start_a_long_reply(caller)
        caller.page.wait_for_timeout(300)
        caller.say(np.concatenate([noise, silence(0.05)]))
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 1")
        caller.wait("session.state.activity === 'listening'", 40)
        assert caller.log("output_audio_buffer.cleared") == []
        assert caller.log("response.done")[0]["event"]["response"]["status"] == "completed"
        # Every duck was undone, and nothing was made of the noise.
        assert len(caller.log("omnitalk.duck")) == len(caller.log("omnitalk.unduck"))
        assert len(caller.transcript("user")) == 1
        assert caller.session("session.transcript.filter(line => line.role === 'assistant')[0].interrupted") is False


def _first_sound_after(heard: Heard, start: int) -> int | None:
    loud = np.flatnonzero(np.abs(heard.samples[start:]) > 0.01)
    # A reply begins with up to 0.3 s of breath that is not loud yet.
    return start + int(loud[0]) - 3 * heard.rate // 10 if len(loud) else None
