"""A person opens the page, presses *Call*, asks aloud, and hears the answer."""

from pathlib import Path

from .support.browser import opened
from .support.recogniser import transcribe
from .support.server import Server
from .support.speech import say, silence, write_wav


def test_a_spoken_question_is_answered_by_voice_and_shown(cascade_server: Server, wav: Path) -> None:
    """The microphone is Chromium's own fake device, playing a recording; what counts is what the loudspeaker played."""
    write_wav(wav, [silence(2.0), say("What is the capital of France?"), silence(60)])
    with opened(cascade_server.url, microphone=wav) as caller:
        caller.call()
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)")
        caller.wait("session.state.activity === 'listening'")
        assert "Paris" in transcribe(caller.heard().at_16k())
        assert any("capital of France" in text for text in caller.transcript("user"))
        assert any("Paris" in text for text in caller.transcript("assistant"))
        shown = caller.shown_transcript()
        assert "capital of France" in shown
        assert "Paris" in shown
        assert caller.errors == []


def test_the_second_question_is_answered_from_memory(cascade_server: Server) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        caller.call()
        caller.say(say("What is the capital of France?"))
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 1")
        caller.wait("session.state.activity === 'listening'")
        already = len(caller.heard().samples)
        caller.say(say("Which country did I just ask you about?"))
        caller.wait("session.transcript.filter(line => line.role === 'assistant' && line.final).length === 2")
        caller.wait("session.state.activity === 'listening'")
        heard = caller.heard()
        heard.samples = heard.samples[already:]
        assert "France" in transcribe(heard.at_16k())
        assert "France" in caller.transcript("assistant")[-1]
