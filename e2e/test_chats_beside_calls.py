"""Twenty chats at once, with recordings in them, while two people are on a call: the chats are told to come back, and the calls go on.

Prints when each call's speech arrived against when it was due, with and without the chats: a figure to read, not to judge a loaded
machine by.
"""

import asyncio
import base64
import itertools
import json
from typing import Any

import httpx
from openai import AsyncOpenAI

from .support.server import Server
from .support.speech import silence
from .test_stock_chat import wav

CHATS = 20
RATE = 24_000
STORY = "Tell me a long story about a brave little ship. Use many sentences."


async def one_call(server: Server, started: asyncio.Event) -> float:
    """Asks for a story and takes it; the worst lateness of a piece in ms (below 0: it was always early)."""
    address = f"127.0.0.1:{server.port}/v1"
    loop, worst, sounded = asyncio.get_running_loop(), -1e9, 0.0
    async with (
        AsyncOpenAI(api_key="none", base_url=f"http://{address}", websocket_base_url=f"ws://{address}") as client,
        client.realtime.connect(model="omnitalk") as call,
    ):
        item: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": STORY}]}
        await call.conversation.item.create(item=item)
        await call.response.create()
        begun = None
        async for event in call:
            if event.type == "response.output_audio.delta":
                now = loop.time()
                begun = begun or now
                started.set()
                worst = max(worst, 1000.0 * (now - begun) - sounded)
                sounded += 1000.0 * len(base64.b64decode(event.delta)) / (2 * RATE)
            elif event.type == "response.done":
                break
    assert sounded > 3_000, "the story was told"
    return worst


async def chat_until(done: asyncio.Event, server: Server, body: bytes, tally: dict[int, int]) -> None:
    """Asks again and again, whatever the answer."""
    headers = {"content-type": "application/json"}
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as http:
        for _ in itertools.count():
            if done.is_set():
                return
            answer = await http.post("/v1/chat/completions", content=body, headers=headers)
            tally[answer.status_code] = tally.get(answer.status_code, 0) + 1
            # A client that is told to wait does; a fifth of what it is told, so that the server is pressed harder than it should be.
            await asyncio.sleep(1.0)


async def two_calls(server: Server, chats: int, body: bytes) -> tuple[list[float], dict[int, int]]:
    """The calls' worst lateness, and how the chats beside them were answered."""
    done, started = asyncio.Event(), asyncio.Event()
    tally: dict[int, int] = {}
    calls = [asyncio.create_task(one_call(server, started)) for _ in range(2)]
    await started.wait()
    asking = [asyncio.create_task(chat_until(done, server, body, tally)) for _ in range(chats)]
    worst = await asyncio.gather(*calls)
    done.set()
    await asyncio.gather(*asking)
    return list(worst), tally


async def test_calls_go_on(cascade_server: Server) -> None:
    data = base64.b64encode(wav(silence(30.0, 16_000))).decode()
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    body = {"messages": [{"role": "user", "content": [part]}], "modalities": ["text", "audio"], "max_tokens": 20}
    # Written once: this loop also measures when the calls' speech arrives.
    written = json.dumps(body).encode()
    alone, _ = await two_calls(cascade_server, 0, written)
    beside, tally = await two_calls(cascade_server, CHATS, written)
    print(f"latest piece, ms after it was due: {[round(ms) for ms in alone]} alone, {[round(ms) for ms in beside]} beside chats: {tally}")
    # A few may be taken when the calls have just ended.
    assert set(tally) <= {200, 429} and tally[429] >= CHATS and tally.get(200, 0) <= CHATS, tally
