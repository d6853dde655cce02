"""A real Chromium calls over WebRTC the way OpenAI's browser example does: an offer sent before any candidate is known, no SDK of ours."""

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from omnitalk.bench.chromium import FLAGS, executable
from playwright.sync_api import Page, sync_playwright

from .support.server import serving
from .support.speech import say, silence, write_wav

DIAL = """async configuration => {
  const pc = new RTCPeerConnection(configuration);
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
  call.packetsSent = async () => {
    for (const report of (await pc.getStats()).values())
      if (report.type === 'outbound-rtp' && report.kind === 'audio') return report.packetsSent;
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


def test_a_spoken_question_is_answered_over_webrtc(tmp_path: Path) -> None:
    microphone = tmp_path / "microphone.wav"
    write_wav(microphone, [silence(3.0), say("What is the capital of France?"), silence(60)])
    flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required", f"--use-file-for-fake-audio-capture={microphone}%noloop"]
    with serving(tmp_path / "server.log", "--engine", "scripted") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=flags, ignore_default_args=["--mute-audio"])
        try:
            page = browser.new_context(permissions=["microphone"]).new_page()
            page.goto(server.url)
            dialled = page.evaluate(DIAL, {})
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
            # The clock of the sound never stood still: 100 packets for each second since the first.
            first = report["packetsReceived"]
            sent = page.evaluate("window.call.packetsSent()")
            page.wait_for_timeout(2_000)
            later = page.evaluate("window.call.level()")
            seconds = (later["timestamp"] - report["timestamp"]) / 1000
            assert (later["packetsReceived"] - first) / seconds == pytest.approx(100, abs=5)
            # And the browser heeds our wish for short packets.
            assert (page.evaluate("window.call.packetsSent()") - sent) / seconds == pytest.approx(100, abs=10)
            status = page.evaluate("fetch(window.call.location, {method: 'DELETE'}).then(answer => answer.status)")
            assert status == 200
            assert has(page, "session.closed")["reason"] == "client_close"
        finally:
            browser.close()


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(shutil.which("turnserver") is None, reason="needs coturn (apt-get install coturn)")
def test_a_browser_that_may_only_use_tcp_calls_through_a_turn_server_with_our_credentials(tmp_path: Path) -> None:
    port = free_udp_port()
    command = ["turnserver", "-n", "--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1", "--listening-port", str(port)]
    command += ["--min-port", "49160", "--max-port", "49260", "--use-auth-secret", "--static-auth-secret", "a secret", "--realm", "test"]
    command += ["--allow-loopback-peers", "--no-tls", "--no-dtls", "--no-cli", "--log-file", "stdout", "--pidfile", str(tmp_path / "pid")]
    flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required", "--allow-loopback-in-peer-connection"]
    arguments = ("--engine", "scripted", "--webrtc-address", "127.0.0.1", "--ice-server", f"turn:127.0.0.1:{port}?transport=tcp")
    with (tmp_path / "turn.log").open("wb") as log:
        relay = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path)
    try:
        with (
            serving(tmp_path / "server.log", *arguments, variables={"OMNITALK_TURN_SECRET": "a secret"}) as server,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=executable(), args=flags, ignore_default_args=["--mute-audio"])
            try:
                page = browser.new_context(permissions=["microphone"]).new_page()
                page.goto(server.url)
                servers = page.evaluate("fetch('v1/realtime/ice_servers').then(answer => answer.json())")["ice_servers"]
                assert servers[0]["credential"]
                page.evaluate(DIAL, {"iceServers": servers, "iceTransportPolicy": "relay"})
                has(page, "session.created")
                page.evaluate(
                    "window.call.channel.send(JSON.stringify({type: 'conversation.item.create', item: "
                    "{type: 'message', role: 'user', content: [{type: 'input_text', text: 'Hello.'}]}}))"
                )
                page.evaluate("window.call.channel.send(JSON.stringify({type: 'response.create'}))")
                has(page, "output_audio_buffer.stopped")
                assert page.evaluate("window.call.level()")["totalAudioEnergy"] > 0.001
            finally:
                browser.close()
    finally:
        relay.terminate()
        relay.wait(10)
