"""A spoken turn before the first caller: without it the first reply takes 2 to 4.7 s, because kernels are compiled at first use."""

import asyncio
from typing import Any

import numpy as np

from omnitalk.protocol.base import JsonObject

__all__ = ["spoken_turn"]

_UNIT_S = 1.0
_PATIENCE_S = 60.0
_QUIET_UNITS = 12


async def spoken_turn(omni: Any, config: JsonObject) -> bool:
    """One short call with sound in and, if the model wants, sound out. Whether it spoke (a model may choose not to)."""
    from vllm_omni.engine.duplex import commands

    noise = np.random.default_rng(0)
    handle = await omni.open_session(config, timeout=_PATIENCE_S)
    spoke = asyncio.Event()
    over = asyncio.Event()

    async def listen() -> None:
        async for event in handle.events():
            if event.type == "response.output_audio.delta":
                spoke.set()
            elif event.type == "response.done" and spoke.is_set():
                over.set()

    listener = asyncio.create_task(listen())
    try:
        for unit in range(2 + _QUIET_UNITS):
            level = 3_000 if unit < 2 else 10
            sound = noise.normal(0, level, 16_000).astype("<i2").tobytes()
            await handle.submit(commands.AppendAudio(audio=sound, format="pcm16", sample_rate_hz=16_000, is_speech=unit < 2))
            try:
                async with asyncio.timeout(_UNIT_S):
                    await over.wait()
                break
            except TimeoutError:
                continue
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
        await handle.close(reason="warm_up_over")
    return spoke.is_set()
