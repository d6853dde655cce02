"""Twenty chats at once, with recordings in them, while two people are on a call: their speech still arrives before it must be heard."""

import asyncio
import base64
import itertools
from typing import Any

import httpx
from openai import AsyncOpenAI

from .support.server import Server
from .support.speech import silence
from .test_stock_chat import wav

CHATS = 20
RATE = 24_000
STORY = "Tell me a long story about a brave little ship. Use many sentences."
CUSHION_MS = 200.0
"""What a page's jitter buffer holds back; sound that is later than this is missed."""


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


async def chat_until(done: asyncio.Event, server: Server, tally: dict[int, int]) -> None:
    """Asks again and again, whatever the answer."""
    data = base64.b64encode(wav(silence(30.0, 16_000))).decode()
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    body = {"messages": [{"role": "user", "content": [part]}], "modalities": ["text", "audio"], "max_tokens": 20}
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as http:
        for _ in itertools.count():
            if done.is_set():
                return
            answer = await http.post("/v1/chat/completions", json=body)
            tally[answer.status_code] = tally.get(answer.status_code, 0) + 1
            # A client that is told to wait does; a tenth of what it is told, so that the server is pressed harder than it should be.
            await asyncio.sleep(0.5)


async def test_calls_stay_in_real_time(cascade_server: Server) -> None:
    done, started = asyncio.Event(), asyncio.Event()
    tally: dict[int, int] = {}
    calls = [asyncio.create_task(one_call(cascade_server, started)) for _ in range(2)]
    await started.wait()
    chats = [asyncio.create_task(chat_until(done, cascade_server, tally)) for _ in range(CHATS)]
    worst = await asyncio.gather(*calls)
    done.set()
    await asyncio.gather(*chats)
    print(f"latest piece of each call: {[round(each) for each in worst]} ms after it was due; chats answered: {tally}")
    assert max(worst) < CUSHION_MS, (worst, tally)
    assert set(tally) <= {200, 429} and tally.get(429, 0) >= CHATS, tally
