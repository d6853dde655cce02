"""OpenAI's own realtime SDK for browsers, as npm brings it, in Chromium against our server: over WebRTC and over the WebSocket."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from .support.browser import opened
from .support.server import Server
from .support.speech import say

SDK = Path(__file__).parents[1] / "node_modules/@openai/agents-realtime/dist/bundle/openai-realtime-agents.umd.js"

pytestmark = pytest.mark.skipif(not SDK.is_file(), reason="OpenAI's browser SDK is not installed: npm ci")

CONNECT = """async ([transport, origin]) => {
  const { RealtimeAgent, RealtimeSession, OpenAIRealtimeWebRTC, OpenAIRealtimeWebSocket } = window.OpenAIAgentsRealtime;
  const agent = new RealtimeAgent({ name: 'Helper', instructions: 'Answer in one sentence.' });
  const way = transport === 'webrtc'
    ? new OpenAIRealtimeWebRTC({ baseUrl: `${origin}/v1/realtime/calls`, useInsecureApiKey: true })
    : new OpenAIRealtimeWebSocket({ url: `${origin.replace('http', 'ws')}/v1/realtime?model=any`, useInsecureApiKey: true });
  const session = new RealtimeSession(agent, { transport: way, model: 'any' });
  const seen = window.seen = { session, errors: [], events: [], history: [], audioBytes: 0, interrupted: 0 };
  session.on('error', (error) => seen.errors.push(JSON.stringify(error)));
  session.on('transport_event', (event) => seen.events.push(event));
  session.on('history_updated', (history) => seen.history = history);
  session.on('audio', ({ data }) => seen.audioBytes += data.byteLength);
  session.on('audio_interrupted', () => seen.interrupted++);
  await session.connect({ apiKey: 'unused' });
  return way.status;
}"""


@contextmanager
def connected(server: Server, transport: str) -> Iterator[Page]:
    """A page of our server with the SDK in it, connected."""
    with opened(server.url, scripted_mouth=True) as caller:
        caller.page.add_script_tag(path=SDK)
        assert caller.page.evaluate(CONNECT, [transport, server.url]) == "connected"
        yield caller.page
        assert caller.page.evaluate("window.seen.errors") == []
        caller.page.evaluate("window.seen.session.close()")
        assert caller.errors == []


def until(page: Page, expression: str, timeout_s: float = 40) -> Any:
    """Polls from outside: the value of ``seen => EXPRESSION`` once it is true."""
    for _ in range(int(timeout_s / 0.05)):
        if value := page.evaluate(f"(seen => {expression})(window.seen)"):
            return value
        page.wait_for_timeout(50)
    raise TimeoutError(f"never: {expression}; {page.evaluate('window.seen.events.map(event => event.type)')[-20:]}")


ANSWERED = "seen.history.find(item => item.role === 'assistant' && item.status === 'completed')"


@pytest.mark.parametrize("transport", ["webrtc", "websocket"])
def test_a_message_is_answered(cascade_server: Server, transport: str) -> None:
    with connected(cascade_server, transport) as page:
        page.evaluate("window.seen.session.sendMessage('What is the capital of France?')")
        answer = until(page, ANSWERED)
        assert "Paris" in str(answer["content"])
        if transport == "websocket":
            assert page.evaluate("window.seen.audioBytes") > 10_000


def test_a_spoken_question_is_answered_over_webrtc(cascade_server: Server) -> None:
    """The SDK opens the microphone by itself here; over the WebSocket it leaves that to its user."""
    with connected(cascade_server, "webrtc") as page:
        import base64

        import numpy as np

        pcm = (np.clip(say("What is the capital of France?"), -1, 1) * 32767).astype("<i2").tobytes()
        page.evaluate("text => window.mouth.say(text)", base64.b64encode(pcm).decode())
        assert "Paris" in str(until(page, ANSWERED)["content"])
        asked = until(page, "seen.history.find(item => item.role === 'user')")
        assert "capital of France" in str(asked["content"])


@pytest.mark.parametrize("transport", ["webrtc", "websocket"])
def test_its_interrupt_silences_the_answer(cascade_server: Server, transport: str) -> None:
    with connected(cascade_server, transport) as page:
        page.evaluate("window.seen.session.sendMessage('Tell me about the history of the ocean.')")
        begun = "output_audio_buffer.started" if transport == "webrtc" else "response.output_audio.delta"
        until(page, f"seen.events.some(event => event.type === '{begun}')")
        page.evaluate("window.seen.session.interrupt()")
        done = until(page, "seen.events.find(event => event.type === 'response.done')")
        assert done["response"]["status"] == "cancelled"
