"""Microphones that are changed, unplugged, and a network that goes quiet, in the middle of a call."""

import asyncio
import json
import math
import struct

from websockets.asyncio.server import ServerConnection

from .conftest import Stage, unpack
from .test_session import Script


def strength(pieces: list[bytes], frequency: float, rate: int = 16_000) -> list[float]:
    """How much of a tone each 20 ms piece holds (its amplitude, 0 to 1)."""
    found = []
    for piece in pieces:
        samples = [value / 32768 for value in struct.unpack(f"<{len(piece) // 2}h", piece)]
        turns = [2 * math.pi * frequency * i / rate for i in range(len(samples))]
        real = sum(s * math.cos(a) for s, a in zip(samples, turns, strict=True))
        imaginary = sum(s * math.sin(a) for s, a in zip(samples, turns, strict=True))
        found.append(2 * math.hypot(real, imaginary) / len(samples))
    return found


async def live(stage: Stage) -> Script:
    script = Script()
    stage.script = script
    phase = await stage.run("""
      globalThis.mics = t.microphones({ first: 500, second: 2000 });
      const session = t.call({ mediaDevices: mics.devices });
      await session.start();
      return session.state.phase;
    """)
    assert phase == "live"
    await script.pieces(25)
    return script


async def test_changing_the_microphone_leaves_no_hole_of_300_ms(stage: Stage) -> None:
    script = await live(stage)
    start = len(script.sound)
    assert await stage.run("return session.setMicrophone('second')")
    await script.pieces(40)
    pieces = script.sound[start:]
    first, second = strength(pieces, 500), strength(pieces, 2000)
    assert second[-1] > 0.3 and first[-1] < 0.05, "the new microphone is heard, and only it"
    neither = [max(a, b) < 0.1 for a, b in zip(first, second, strict=True)]
    longest = max(len(run) for run in "".join("x" if silent else " " for silent in neither).split(" "))
    assert longest * 20 <= 300


async def test_an_unplugged_microphone_is_replaced_by_the_one_that_is_left(stage: Stage) -> None:
    script = await live(stage)
    state = await stage.run("""
      mics.unplug('first');
      await t.until(() => session.state.microphone.deviceId === 'second');
      return session.state;
    """)
    assert state["phase"] == "live"
    await script.pieces(40)
    assert strength(script.sound[-5:], 2000)[-1] > 0.3


async def test_a_server_that_falls_silent_is_noticed_and_the_call_is_resumed(stage: Stage) -> None:
    """The connection stays open and nothing comes: heartbeats go unanswered."""
    script = Script()
    sockets = 0
    resumed = asyncio.Event()

    async def deaf_then_well(socket: ServerConnection) -> None:
        nonlocal sockets
        sockets += 1
        if sockets > 1:
            resumed.set()
            await script(socket)
            return
        event, _ = unpack(await socket.recv())
        assert event["type"] == "session.update"
        await socket.send(json.dumps({"type": "session.created", "session": {"id": "call_1"}, "resume_token": "one"}))
        async for _ in socket:
            pass

    stage.script = deaf_then_well
    await stage.run("const session = t.call({ transport: { heartbeatMs: 150, silenceMs: 150 } }); await session.start();")
    async with asyncio.timeout(20):
        await resumed.wait()
    sent = await script.until_sent("session.resume")
    assert (sent["session_id"], sent["resume_token"]) == ("call_1", "one")
