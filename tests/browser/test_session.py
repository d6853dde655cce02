"""A whole `CallSession` in Chromium against a scripted socket: microphone in, speech out, cuts, returns and refusals."""

import asyncio
import json
import math
import struct
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from .conftest import Stage, delta, unpack


def tone(ms: int, frequency: float = 1000.0) -> bytes:
    """PCM16 at 24 kHz."""
    count = 24 * ms
    return struct.pack(f"<{count}h", *(round(16_000 * math.sin(2 * math.pi * frequency * i / 24_000)) for i in range(count)))


class Script:
    """A server that opens or resumes a call and keeps all that it is sent."""

    def __init__(self) -> None:
        self.sockets: list[ServerConnection] = []
        self.received: list[list[dict[str, Any]]] = []
        self.sound: list[bytes] = []
        self.arrived = asyncio.Condition()

    async def __call__(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        events: list[dict[str, Any]] = []
        self.received.append(events)
        number = len(self.sockets)
        try:
            async for frame in socket:
                event, sound = unpack(frame)
                if event["type"] == "session.update" or event["type"] == "session.resume":
                    kind = "session.created" if event["type"] == "session.update" else "session.resumed"
                    await self.say({"type": kind, "session": {"id": "call_1"}, "resume_token": f"token{number}"})
                async with self.arrived:
                    events.append(event)
                    if event["type"] == "input_audio_buffer.append":
                        self.sound.append(sound)
                    self.arrived.notify_all()
        except ConnectionClosed:
            return

    async def say(self, event: dict[str, Any] | bytes) -> None:
        await self.sockets[-1].send(event if isinstance(event, bytes) else json.dumps(event))

    async def pieces(self, count: int) -> list[bytes]:
        """The next ``count`` pieces of microphone sound."""
        async with asyncio.timeout(20), self.arrived:
            start = len(self.sound)
            await self.arrived.wait_for(lambda: len(self.sound) >= start + count)
            return self.sound[start : start + count]

    async def until_sent(self, kind: str, socket: int = -1) -> dict[str, Any]:
        async with asyncio.timeout(20), self.arrived:

            def found() -> list[dict[str, Any]]:
                return [e for e in self.received[socket] if e["type"] == kind] if len(self.received) > max(socket, 0) else []

            await self.arrived.wait_for(found)
            return found()[-1]


async def live(stage: Stage, more: str = "{}") -> Script:
    script = Script()
    stage.script = script
    state = await stage.run(f"const session = t.call({more}); await session.start(); return session.state;")
    assert state["phase"] == "live", state
    return script


async def test_the_first_message_opens_the_session_and_sound_follows_in_binary_20_ms_pieces(stage: Stage) -> None:
    script = await live(stage)
    assert script.received[0][0] == {"type": "session.update", "session": {"instructions": "be brief"}}
    assert script.sockets[0].subprotocol == "omnitalk.binary.v1"
    assert script.sockets[0].request is not None and script.sockets[0].request.path == "/v1/realtime?duplex=1&autostart=0"
    assert {len(piece) for piece in await script.pieces(60)} == {640}
    assert any(any(piece) for piece in script.sound), "the fake microphone beeps"


async def test_mute_sends_zeros_at_the_same_cadence(stage: Stage) -> None:
    script, clock = await live(stage), asyncio.get_running_loop().time
    await script.pieces(10)
    began = clock()
    await script.pieces(50)
    unmuted = clock() - began
    await stage.run("session.setMuted(true)")
    assert (await script.until_sent("omnitalk.mute"))["muted"] is True
    await script.pieces(3)
    began = clock()
    silence = await script.pieces(50)
    muted = clock() - began
    assert not any(any(piece) for piece in silence)
    assert 0.7 < muted / unmuted < 1.4


@pytest.mark.parametrize(
    "when", ["session.setMuted(true); const going = session.start();", "const going = session.start(); session.setMuted(true);"]
)
async def test_who_mutes_before_the_call_is_live_is_not_heard(stage: Stage, when: str) -> None:
    """Before ``start()``, and while the browser still asks for the microphone."""
    script = Script()
    stage.script = script
    muted = await stage.run(f"""
      const session = t.call({{ mediaDevices: t.microphones({{ first: 500 }}).devices }});
      {when}
      await going;
      return session.state.muted;
    """)
    assert muted is True
    assert not any(any(piece) for piece in await script.pieces(50))
    assert (await script.until_sent("omnitalk.mute"))["muted"] is True
    await stage.run("session.setMuted(false)")
    await script.pieces(25)
    assert any(script.sound[-1]), "and is heard when they want to be"


async def test_a_frame_that_is_no_event_is_logged_and_the_call_goes_on(stage: Stage) -> None:
    script = await live(stage)
    for header in (b"null", b"[]", b"{}"):
        await script.say(struct.pack("<2sBBI", b"OT", 1, 0, len(header)) + header)
    await script.sockets[-1].send("null")
    found = await stage.run("""
      await t.until(() => session.state.phase !== 'live' || session.events.filter((e) => e.type === 'omnitalk.unreadable').length === 4);
      return [session.state.phase, session.state.error];
    """)
    assert found == ["live", None]
    await script.pieces(5)


async def test_hold_sends_nothing_and_comes_back(stage: Stage) -> None:
    script = await live(stage)
    await script.pieces(5)
    await stage.run("session.setHold(true)")
    await script.until_sent("omnitalk.hold")
    await stage.run("await t.pause(100)")
    count = len(script.sound)
    await stage.run("await t.pause(300)")
    assert len(script.sound) == count
    await stage.run("session.setHold(false)")
    await script.pieces(5)


async def test_a_cut_connection_is_resumed_with_the_newest_token_and_nothing_is_said_twice(stage: Stage) -> None:
    script = await live(stage)
    speech = tone(1200)
    for seq in range(3):
        await script.say(delta(seq + 1, "r1", speech[seq * 9600 : (seq + 1) * 9600]))
    await stage.run("await t.until(() => session.events.filter((e) => e.type === 'response.output_audio.delta').length === 3)")
    script.sockets[-1].transport.abort()
    resume = await script.until_sent("session.resume", 1)
    assert resume == {
        "type": "session.resume", "session_id": "call_1", "resume_token": "token1", "last_received_server_event_seq": 3,
    }  # fmt: skip
    for seq in (2, 3, 4, 5, 6):
        start = (seq - 1) * 9600
        await script.say(delta(seq, "r1", speech[start : start + 9600]))
    await script.say({"type": "response.output_audio.done", "response_id": "r1", "item_id": "item_r1", "server_event_seq": 7})
    await stage.run("await t.until(() => session.events.some((e) => e.type === 'playback.finished'))")
    played = await stage.run("return session.events.find((e) => e.type === 'playback.finished').event.renderedMs")
    stats = await stage.run("return session.stats()")
    assert abs(played - 1200) < 0.1
    assert stats["duplicatesDropped"] == 2 and stats["reconnects"] == 1
    ack = await script.until_sent("session.event_ack", 1)
    assert ack["server_event_seq"] >= 3
    script.sockets[-1].transport.abort()
    assert (await script.until_sent("session.resume", 2))["resume_token"] == "token2"
    assert (await stage.run("await t.until(() => session.state.phase === 'live'); return session.state.error")) is None


async def test_playback_is_acknowledged_up_to_the_end(stage: Stage) -> None:
    script = await live(stage)
    await script.say(delta(1, "r1", tone(400)))
    await script.say({"type": "response.output_audio.done", "response_id": "r1", "item_id": "item_r1", "server_event_seq": 2})
    async with asyncio.timeout(20), script.arrived:
        await script.arrived.wait_for(lambda: any(e["type"] == "playback.ack" and e["played_ms"] == 400 for e in script.received[0]))
    acks = [e["played_ms"] for e in script.received[0] if e["type"] == "playback.ack"]
    assert acks == sorted(acks) and len(acks) > 2


async def test_interrupt_silences_at_once_and_late_sound_is_never_heard(stage: Stage) -> None:
    script = await live(stage)
    await script.say({"type": "response.created", "response": {"id": "r1"}, "response_id": "r1", "server_event_seq": 1})
    await script.say(delta(2, "r1", tone(3000)))
    await stage.run("await t.until(() => session.events.some((e) => e.type === 'playback.started'))")
    await stage.run("session.interrupt({ source: 'escape' })")
    sent = await script.until_sent("omnitalk.interrupt")
    assert (sent["hard"], sent["source"]) == (False, "escape")
    await script.say(delta(3, "r1", tone(500)))
    found = await stage.run("""
      await t.until(() => session.events.some((e) => e.type === 'playback.flushed'));
      await t.pause(300);
      const cut = session.events.find((e) => e.type === 'playback.flushed').event.at;
      return Math.max(...session.taps.filter((one) => one.frame / one.rate > cut + 128 / one.rate).map((one) => t.loudest(one.samples)));
    """)
    assert found == 0


async def test_the_microphone_is_swapped_in_the_call_without_a_gap(stage: Stage) -> None:
    script = await live(stage)
    await script.pieces(10)
    found = await stage.run("""
      const devices = (await navigator.mediaDevices.enumerateDevices()).filter((d) => d.kind === 'audioinput');
      const other = devices.find((d) => d.deviceId !== session.state.microphone.deviceId && d.deviceId !== 'default');
      const before = session.state.microphone.deviceId;
      const changed = await session.setMicrophone(other.deviceId);
      const wrong = await session.setMicrophone('no-such-device');
      return { changed, wrong, before, wanted: other.deviceId, now: session.state.microphone.deviceId, error: session.state.error.code };
    """)
    assert found["changed"] and found["now"] == found["wanted"] != found["before"]
    assert not found["wrong"] and found["error"] == "no_microphone"
    await script.pieces(60)
    assert any(any(piece) for piece in script.sound[-60:]), "the new microphone beeps"


async def test_a_socket_that_takes_nothing_keeps_the_newest_second_of_sound(stage: Stage) -> None:
    opened = asyncio.Event()
    release = asyncio.Event()

    async def slow(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send(json.dumps({"type": "session.created", "session": {"id": "call_1"}, "resume_token": "x"}))
        opened.set()
        await release.wait()  # reads nothing

    stage.script = slow
    found = await stage.run("""
      const { WebSocketTransport } = await import('/shared_ui/core/websocket-transport.js');
      const url = location.origin.replace('http', 'ws') + '/v1/realtime';
      const transport = new WebSocketTransport({ url, first: { type: 'session.update', session: {} } });
      const states = [];
      transport.addEventListener('status', (m) => states.push(m.detail.state));
      transport.open();
      await t.until(() => transport.ready);
      for (let i = 0; i < 400; i++) { transport.sendAudio(new ArrayBuffer(65536)); if (i % 20 === 0) await t.pause(1); }
      const stats = transport.stats, buffered = transport.socket.bufferedAmount;
      transport.close('done');
      return { stats, buffered };
    """)
    release.set()
    assert opened.is_set()
    stats = found["stats"]
    assert stats["micBacklogPieces"] == 50
    assert stats["micPiecesDropped"] == 400 - stats["micPiecesSent"] - 50 > 0
    assert found["buffered"] < 16_000 + 65_536 + 1024, "one piece may cross the mark, no more"


async def test_every_refusal_has_words_for_the_person(stage: Stage) -> None:
    async def refuse(socket: ServerConnection) -> None:
        await socket.recv()
        place = {"type": "omnitalk.queue", "position": 2, "length": 3, "estimated_wait_ms": 4000}
        await socket.send(json.dumps(place))
        await socket.send(json.dumps({"type": "error", "error": {"type": "rate_limit_error", "code": "queue_full", "message": "no room"}}))
        await socket.close(1013)

    stage.script = refuse
    found = await stage.run("""
      const run = async (more) => {
        const s = t.call(more), places = [];
        s.addEventListener('change', () => s.state.queue && places.push(s.state.queue));
        await s.start();
        return { ...s.state, places };
      };
      const throwing = (name) => ({ getUserMedia: () => Promise.reject(new DOMException('x', name)) });
      return {
        full: await run({}),
        denied: await run({ mediaDevices: throwing('NotAllowedError') }),
        none: await run({ mediaDevices: throwing('NotFoundError') }),
        busy: await run({ mediaDevices: throwing('NotReadableError') }),
        unready: await run({ config: { ready: { ready: false, stage: 'loading the voice', progress: 0.4 } } }),
      };
    """)
    codes = {name: state["error"]["code"] for name, state in found.items()}
    assert codes == {
        "full": "server_full", "denied": "microphone_denied", "none": "no_microphone", "busy": "microphone_busy",
        "unready": "engine_not_ready",
    }  # fmt: skip
    assert all(state["phase"] == "failed" and len(state["error"]["message"]) > 20 for state in found.values())
    assert found["full"]["places"][0] == {"position": 2, "length": 3, "estimatedWaitMs": 4000}
    assert "loading the voice (40 %)" in found["unready"]["error"]["message"]


async def test_the_server_hanging_up_is_explained(stage: Stage) -> None:
    script = await live(stage)
    await script.say({"type": "session.closed", "reason": "idle_ttl_expired", "server_event_seq": 1})
    found = await stage.run("""
      await t.until(() => session.state.phase === 'ended');
      return { ...session.state, sent: session.send({ type: 'response.create' }) };
    """)
    assert found["error"]["code"] == "call_ended" and "long time" in found["error"]["message"]
    assert found["sent"] is False


async def test_a_busy_page_stalls_neither_microphone_nor_speech(stage: Stage) -> None:
    script = await live(stage)
    await script.pieces(10)
    busy = asyncio.create_task(stage.run("const end = performance.now() + 2000; while (performance.now() < end);"))
    await script.pieces(25)
    await script.say(delta(1, "r1", tone(300)))
    await script.say({"type": "response.output_audio.done", "response_id": "r1", "item_id": "item_r1", "server_event_seq": 2})
    async with asyncio.timeout(20), script.arrived:
        await script.arrived.wait_for(lambda: any(e["type"] == "playback.ack" and e["played_ms"] == 300 for e in script.received[0]))
    assert not busy.done(), "sound came in, was played and acknowledged while the page's main thread did nothing else"
    await busy
