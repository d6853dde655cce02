"""Camera pictures ride on the microphone's sound: one a unit, fresh, muted or not, and never in the way of sound."""

import json
import struct
from typing import Any

from .conftest import Stage, unpack

PROFILE = "{ profile: { data: { id: 'test', unit_ms: 1000, camera: { enabled: true, fps: 1, max_side: 320, quality: 0.6 } } } }"


def pictures_of(frame: bytes) -> list[bytes]:
    """Blobs 1… of a binary append."""
    count, size = frame[3], struct.unpack_from("<I", frame, 4)[0]
    lengths = struct.unpack_from(f"<{count}I", frame, 8)
    at = 8 + 4 * count + size
    blobs = []
    for length in lengths:
        blobs.append(frame[at : at + length])
        at += length
    return blobs[1:]


async def live(stage: Stage) -> list[list[bytes]]:
    """A call whose server notes the pictures of each piece of sound."""
    pieces: list[list[bytes]] = []

    async def script(socket: Any) -> None:
        async for frame in socket:
            event, _ = unpack(frame)
            if event["type"] == "session.update":
                await socket.send(json.dumps({"type": "session.created", "session": {"id": "call_1"}, "resume_token": "one"}))
            elif event["type"] == "input_audio_buffer.append":
                assert isinstance(frame, bytes)
                pieces.append(pictures_of(frame))

    stage.script = script
    phase = await stage.run(f"const session = t.call({PROFILE}); await session.start(); return session.state.phase;")
    assert phase == "live"
    return pieces


async def after(stage: Stage, pieces: list[list[bytes]], count: int) -> list[list[bytes]]:
    """The next ``count`` pieces of sound with their pictures."""
    start = len(pieces)
    while len(pieces) < start + count:
        await stage.page.wait_for_timeout(50)
    return pieces[start : start + count]


async def test_one_fresh_jpeg_a_unit_also_while_muted(stage: Stage) -> None:
    pieces = await live(stage)
    shown = await stage.run(
        "const ok = await session.setPictures('camera'); session.setMuted(true); return [ok, session.state.pictures.kind];"
    )
    assert shown == [True, "camera"]
    await after(stage, pieces, 50)
    found = await after(stage, pieces, 200)
    with_pictures = [index for index, pictures in enumerate(found) if pictures]
    assert 3 <= len(with_pictures) <= 5, "one a second"
    assert all(len(found[index]) == 1 and found[index][0].startswith(b"\xff\xd8\xff") for index in with_pictures)
    # Inside the last 200 ms of a unit, counted in sound from the beginning of the call.
    start = len(pieces) - 200
    places = [(index + start) % 50 for index in with_pictures]
    assert all(place >= 40 or place == 0 for place in places), places
    size = await stage.run("""
      const blob = await new Promise((resolve) => session.addEventListener('picture', (e) => resolve(e.detail), { once: true }));
      const picture = await createImageBitmap(blob);
      return Math.max(picture.width, picture.height);
    """)
    assert size <= 320


async def test_off_means_off(stage: Stage) -> None:
    pieces = await live(stage)
    await stage.run("await session.setPictures('camera');")
    await after(stage, pieces, 60)
    state = await stage.run("""
      const [track] = session.pictureStream.getVideoTracks();
      await session.setPictures('off');
      return [track.readyState, session.state.pictures];
    """)
    assert state == ["ended", None]
    await after(stage, pieces, 2)
    assert not any(await after(stage, pieces, 110))


async def test_a_refused_camera_is_said_and_the_call_goes_on(stage: Stage) -> None:
    pieces = await live(stage)
    found = await stage.run("""
      session.devices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); };
      const ok = await session.setPictures('camera');
      return [ok, session.state.phase, session.state.error.code, session.state.pictures];
    """)
    assert found == [False, "live", "camera_denied", None]
    await after(stage, pieces, 5)


async def test_hanging_up_lets_the_camera_go(stage: Stage) -> None:
    await live(stage)
    ended = await stage.run("""
      await session.setPictures('camera');
      const [track] = session.pictureStream.getVideoTracks();
      await session.end();
      return [track.readyState, session.pictureStream];
    """)
    assert ended == ["ended", None]


async def test_a_link_that_lags_gets_no_picture(stage: Stage) -> None:
    stats = await stage.run("""
      const { WebSocketTransport } = await import('/shared_ui/core/websocket-transport.js');
      const transport = new WebSocketTransport({ url: 'ws://127.0.0.1:9/', first: { type: 'session.update', session: {} } });
      let asked = 0, sent = 0;
      transport.addEventListener('picture', () => asked++);
      transport.ready = true;
      transport.socket = { protocol: 'omnitalk.binary.v1', bufferedAmount: 0, send() { sent++; } };
      transport.wantPictures(1000);
      for (let i = 0; i < 100; i++) transport.sendAudio(new ArrayBuffer(640));
      const well = asked;
      transport.socket.bufferedAmount = 1e6;
      for (let i = 0; i < 45; i++) transport.sendAudio(new ArrayBuffer(640));
      transport.socket.bufferedAmount = 0;
      transport.drain();
      return { well, lagging: asked - well, sent, stats: transport.stats };
    """)
    assert stats["well"] == 2
    assert stats["lagging"] == 0
    assert stats["stats"]["picturesSkipped"] == 1
    assert stats["sent"] == 145, "sound lost nothing"
