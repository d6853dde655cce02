"""Calls that end in every wrong order leave nothing behind: no call, no task, no thread, no socket, no peer in memory."""

import asyncio
import gc
import os
import threading
import tracemalloc
from collections.abc import Awaitable, Callable

import httpx
import pytest
from aiortc import RTCSessionDescription
from omnitalk.api.state import state_of_app
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.transports.webrtc.config import WebRtcConfig
from omnitalk.transports.webrtc.peer import Peer
from omnitalk.transports.webrtc.switchboard import Switchboard

from tests.websocket.live import Live, eventually, serving

from .caller import Caller, loud


async def never_connects(caller: Caller) -> None:
    await caller.place()
    assert (await caller.post()).status_code == 201


async def leaves_while_connecting(caller: Caller) -> None:
    await caller.place()
    answer = (await caller.post()).text
    await caller.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    await caller.close()


async def leaves_at_once(caller: Caller) -> None:
    await caller.dial()
    await caller.close()


async def leaves_while_it_speaks(caller: Caller) -> None:
    await caller.dial()
    caller.ask("A long one, please.")
    await caller.hears(loud, window=5)
    await caller.close()


async def closes_only_the_channel(caller: Caller) -> None:
    await caller.dial()
    await caller.until("session.created")
    caller.channel.close()
    await eventually(lambda: len(caller.live.hub) == 0)


async def is_hung_up_before_it_connects(caller: Caller) -> None:
    await caller.place()
    location = (await caller.post()).headers["location"]
    async with httpx.AsyncClient(base_url=f"http://{caller.live.host}", trust_env=False) as web:
        assert (await web.delete(location)).status_code == 200


async def is_hung_up_by_the_server(caller: Caller) -> None:
    await caller.dial()
    for runner in caller.live.hub:
        await runner.end("server_shutdown")
    await caller.until("session.closed")


async def makes_no_sense(caller: Caller) -> None:
    await caller.dial()
    caller.channel.send(b"\x00\x01")
    caller.channel.send("not json")
    caller.channel.send("[]")
    caller.connection.createDataChannel("something else")
    await caller.until(lambda event: event["type"] == "error" and event["error"]["code"] == "invalid_json")
    caller.send("session.close")
    await caller.until("session.closed")


WRONG: tuple[Callable[[Caller], Awaitable[None]], ...] = (
    never_connects,
    leaves_while_connecting,
    leaves_at_once,
    leaves_while_it_speaks,
    closes_only_the_channel,
    is_hung_up_before_it_connects,
    is_hung_up_by_the_server,
    makes_no_sense,
)


async def closes_the_channel_among_others(caller: Caller) -> None:
    await caller.dial()
    await caller.until("session.created")
    caller.channel.close()
    await eventually(lambda: caller.live.hub.find(caller.call_id) is None)


async def is_ended_by_the_server_among_others(caller: Caller) -> None:
    await caller.dial()
    runner = caller.live.hub.find(caller.call_id)
    assert runner is not None
    await runner.end("server_shutdown")
    await caller.until("session.closed")


WRONG_AMONG_OTHERS = (
    never_connects,
    leaves_while_connecting,
    leaves_at_once,
    leaves_while_it_speaks,
    closes_the_channel_among_others,
    is_hung_up_before_it_connects,
    is_ended_by_the_server_among_others,
    makes_no_sense,
)
"""The same for several calls at once: nobody waits for the server to be empty."""


def board(live: Live, **config: float) -> Switchboard:
    switchboard = state_of_app(live.app).switchboard
    assert switchboard is not None
    switchboard.config = WebRtcConfig(loopback=True, **config)  # type: ignore[arg-type]
    return switchboard


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def peers_in_memory() -> int:
    gc.collect()
    return sum(isinstance(each, Peer) for each in gc.get_objects())


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each.__name__)
async def test_nothing_is_left_of_a_call_that(wrong: Callable[[Caller], Awaitable[None]]) -> None:
    async with serving() as live:
        switchboard = board(live, connect_s=1.0, goodbye_s=0.3)
        tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
        caller = Caller(live)
        try:
            await wrong(caller)
        finally:
            await caller.close()
        await eventually(lambda: len(live.hub) == 0 and len(switchboard) == 0)
        await eventually(lambda: not asyncio.all_tasks() - tasks)
        await eventually(lambda: not {each for each in threading.enumerate() if each.name.endswith("-decoder")} - threads)
        del caller
        await eventually(lambda: peers_in_memory() == 0)


async def test_many_calls_in_a_row_and_at_once_leave_the_server_as_it_was() -> None:
    async with serving(max_calls=4) as live:
        switchboard = board(live, connect_s=1.0, goodbye_s=0.1)

        async def one(number: int) -> None:
            caller = Caller(live)
            try:
                await (leaves_at_once, leaves_while_connecting, is_hung_up_by_the_server_alone)[number % 3](caller)
            finally:
                await caller.close()

        async def is_hung_up_by_the_server_alone(caller: Caller) -> None:
            await caller.dial()
            runner = live.hub.find(caller.call_id)
            assert runner is not None
            await runner.end("client_close")

        async def settled() -> None:
            await eventually(lambda: len(live.hub) == 0 and len(switchboard) == 0)

        await asyncio.gather(*(one(number) for number in range(3)))
        await settled()
        files, tasks = open_files(), len(asyncio.all_tasks())
        for round_ in range(6):
            await asyncio.gather(*(one(round_ + number) for number in range(3)))
            await settled()
        await eventually(lambda: open_files() <= files and len(asyncio.all_tasks()) <= tasks)
        assert peers_in_memory() == 0


async def test_a_hundred_calls_that_end_in_all_the_wrong_orders_leave_memory_flat() -> None:
    async with serving(ScriptedEngine(max_sessions=64), max_calls=64) as live:
        # Long enough for a busy machine; those who never connect are not waited for one by one.
        switchboard = board(live, connect_s=5.0, goodbye_s=0.1)

        async def one(number: int) -> None:
            caller = Caller(live)
            try:
                await WRONG_AMONG_OTHERS[number % len(WRONG_AMONG_OTHERS)](caller)
            finally:
                await caller.close()

        async def hold(numbers: range) -> int:
            """Four at a time; the bytes that Python holds when all are gone."""
            for first in numbers[::4]:
                await asyncio.gather(*(one(number) for number in range(first, min(first + 4, numbers.stop))))
            await eventually(lambda: len(live.hub) == 0 and len(switchboard) == 0)
            await eventually(lambda: len(asyncio.all_tasks()) <= tasks and peers_in_memory() == 0)
            return tracemalloc.get_traced_memory()[0]

        tasks = len(asyncio.all_tasks())
        tracemalloc.start()
        try:
            settled = await hold(range(0, 36))
            files = open_files()
            grown = await hold(range(36, 136)) - settled
        finally:
            tracemalloc.stop()
        assert open_files() <= files
        # One call and its caller take some 400 kB while they last; a hundred together leave less than half of one.
        assert grown < 200_000, f"{grown / 100:.0f} bytes a call"


async def test_a_server_that_stops_says_goodbye() -> None:
    async with serving() as live:
        caller = Caller(live)
        await caller.dial()
        await caller.until("session.created")
        ending = asyncio.create_task(live.hub.close())
        closed = await caller.until("session.closed")
        assert closed["reason"] == "server_shutdown"
        await caller.close()
        await ending
