"""The queue to the engine: bounded, sound gives way first, and whatever else gives way is handed back to be told."""

import asyncio

from omnitalk.hub.commands import CommandQueue
from omnitalk.protocol import client


def sound(size: int = 640) -> client.InputAudioBufferAppend:
    return client.InputAudioBufferAppend(audio=bytes(size))


async def test_order_is_kept() -> None:
    queue = CommandQueue()
    commands = [client.ResponseCreate(event_id=str(number)) for number in range(5)]
    for command in commands:
        assert queue.put(command) == []
    assert [await queue.get() for _ in commands] == commands


async def test_the_oldest_sound_gives_way_and_is_counted() -> None:
    queue = CommandQueue(limit=3)
    first, second, asked = sound(100), sound(200), client.ResponseCreate()
    for command in (first, asked, second, sound(300)):
        assert queue.put(command) == []
    assert queue.dropped_bytes == 100
    assert [await queue.get(), await queue.get()] == [asked, second]


async def test_without_sound_the_oldest_command_is_handed_back() -> None:
    queue = CommandQueue(limit=2)
    commands = [client.ResponseCreate(event_id=str(number)) for number in range(3)]
    assert queue.put(commands[0]) == []
    assert queue.put(commands[1]) == []
    assert queue.put(commands[2]) == [commands[0]]
    assert len(queue) == 2
    assert queue.dropped_commands == 1


async def test_bytes_are_bounded_too_pictures_included() -> None:
    queue = CommandQueue(limit_bytes=1_000)
    queue.put(client.InputAudioBufferAppend(audio=bytes(100), video_frames=[bytes(600)]))
    queue.put(sound(400))
    assert len(queue) == 1
    assert queue.dropped_bytes == 100
    await queue.get()
    queue.put(sound(5_000))
    assert len(queue) == 1


async def test_get_waits_for_the_next() -> None:
    queue = CommandQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    command = sound()
    queue.put(command)
    assert await waiting is command
