"""A microphone for the scripted model, which takes a client's word for what is speech."""

import asyncio
import io

import numpy as np
from omnitalk.bench.driver import Driver
from omnitalk.protocol import client
from PIL import Image

PIECE = 1_600


async def units(driver: Driver, plan: str, *, frames: int = 0, stacked: bool = False, pace_s: float = 0.0) -> None:
    """``S`` a unit of speech, ``N`` one of quiet, ``F`` quiet with a wish that the model listens. ``frames``: pictures a unit."""
    noise = np.random.default_rng(0)
    for what in plan:
        for piece in range(10):
            sound = noise.normal(0, 3_000 if what == "S" else 10, PIECE).astype("<i2").tobytes()
            with_picture = frames and piece % (10 // frames) == 0
            event = client.InputAudioBufferAppend(audio=sound, is_speech=what == "S", force_listen=what == "F")
            if with_picture:
                # A large picture is cut into tiles when another one is stacked behind it.
                event.video_frames = [picture(piece, 960, 540), picture(piece + 100)] if stacked else [picture(piece)]
            await driver.session.submit(event)
            await asyncio.sleep(pace_s / 10)


def picture(number: int, width: int = 320, height: int = 240) -> bytes:
    """A JPEG of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (width, height), (number * 20 % 256, 80, 120)).save(file, "JPEG")
    return file.getvalue()
