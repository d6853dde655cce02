"""A real Chromium calls over WebRTC the way OpenAI's browser example does: an offer sent before any candidate is known, no SDK of ours."""

from pathlib import Path
from typing import Any

import pytest
from omnitalk.bench.chromium import FLAGS, executable
from playwright.sync_api import Page, sync_playwright

from .support.server import serving
from .support.speech import say, silence, write_wav

DIAL = """async () => {
  const pc = new RTCPeerConnection();
  const stream = await navigator.mediaDevices.getUserMedia({audio: true});
  stream.getTracks().forEach(track => pc.addTrack(track, stream));
  const channel = pc.createDataChannel('oai-events');
  const call = window.call = {pc, channel, events: [], at: {}};
  channel.onmessage = ({data}) => {
    const event = JSON.parse(data);
    call.events.push(event);
    call.at[event.type] ??= performance.now();
  };
  const speaker = new Audio();
  speaker.autoplay = true;
  pc.ontrack = ({streams}) => speaker.srcObject = streams[0];
  await pc.setLocalDescription(await pc.createOffer());
  const offer = pc.localDescription.sdp;
  const answer = await fetch('v1/realtime/calls?model=any', {method: 'POST', body: offer, headers: {'content-type': 'application/sdp'}});
  call.location = answer.headers.get('location');
  await pc.setRemoteDescription({type: 'answer', sdp: await answer.text()});
  await new Promise((resolve, reject) => {
    channel.onopen = resolve;
    setTimeout(() => reject(new Error('the channel did not open: ' + pc.iceConnectionState)), 15000);
  });
  call.level = async () => {
    for (const report of (await pc.getStats()).values())
      if (report.type === 'inbound-rtp' && report.kind === 'audio') return report;
    return null;
  };
  return {status: answer.status, candidates: offer.includes('a=candidate')};
}"""


def has(page: Page, kind: str, timeout_s: float = 30.0) -> dict[str, Any]:
    """Waits for an event of this type. Polls from outside: the page's policy forbids scripts made of strings."""
    for _ in range(int(timeout_s / 0.05)):
        found = page.evaluate("kind => window.call.events.find(event => event.type === kind) ?? null", kind)
        if found is not None:
            return dict(found)
        page.wait_for_timeout(50)
    raise TimeoutError(f"no {kind}; there were {page.evaluate('window.call.events.map(event => event.type)')}")


@pytest.mark.parametrize("engine", [("--engine", "scripted")])
def test_a_spoken_question_is_answered_over_webrtc(engine: tuple[str, ...], tmp_path: Path) -> None:
    microphone = tmp_path / "microphone.wav"
    write_wav(microphone, [silence(3.0), say("What is the capital of France?"), silence(60)])
    flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required", f"--use-file-for-fake-audio-capture={microphone}%noloop"]
    with serving(tmp_path / "server.log", *engine) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=flags, ignore_default_args=["--mute-audio"])
        try:
            page = browser.new_context(permissions=["microphone"]).new_page()
            page.goto(server.url)
            dialled = page.evaluate(DIAL)
            assert dialled == {"status": 201, "candidates": False}
            created = has(page, "session.created")
            assert created["session"]["id"] == page.evaluate("window.call.location").rsplit("/", 1)[-1]
            has(page, "input_audio_buffer.committed")
            has(page, "output_audio_buffer.started")
            has(page, "output_audio_buffer.stopped")
            report = page.evaluate("window.call.level()")
            # It was heard: energy is the square of the level, summed over time.
            assert report["totalAudioEnergy"] > 0.001
            assert report["packetsLost"] == 0
            # The clock of the sound never stood still: 50 packets for each second since the first.
            first = report["packetsReceived"]
            page.wait_for_timeout(2_000)
            later = page.evaluate("window.call.level()")
            seconds = (later["timestamp"] - report["timestamp"]) / 1000
            assert (later["packetsReceived"] - first) / seconds == pytest.approx(50, abs=3)
            status = page.evaluate("fetch(window.call.location, {method: 'DELETE'}).then(answer => answer.status)")
            assert status == 200
            assert has(page, "session.closed")["reason"] == "client_close"
        finally:
            browser.close()
