"""Files that clients send, and a server that hands some out."""

import asyncio
import base64
import contextlib
import io
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from omnitalk.media.encoders import encode_speech
from PIL import Image


def data_url(data: bytes, mime: str = "application/octet-stream") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def picture(width: int = 64, height: int = 48, form: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, form)
    return out.getvalue()


def png_bomb(width: int = 30_000, height: int = 30_000) -> bytes:
    """A picture of 900 megapixels in a few kilobytes of zeros."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes(100_000))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg_bomb() -> bytes:
    """A small JPEG whose header claims 65,500 pixels a side."""
    data = bytearray(picture(form="JPEG"))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", 65_500, 65_500)
    return bytes(data)


def wav(seconds: float = 0.5, rate: int = 24_000, hz: float = 300.0) -> bytes:
    samples = 8_000 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)
    return encode_speech(samples.astype("<i2").tobytes(), "wav", rate)


def film(seconds: float = 1.0, size: int = 64) -> bytes:
    """MP4, five pictures a second."""
    import av

    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        stream = file.add_stream("mpeg4", rate=5)
        stream.width = stream.height = size
        stream.pix_fmt = "yuv420p"
        for index in range(int(5 * seconds)):
            frame = av.VideoFrame.from_ndarray(np.full((size, size, 3), 10 * index % 255, np.uint8), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


@dataclass
class FileServer:
    """``answers``: by path, the raw HTTP answer. ``asked``: the paths that were asked for."""

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def put(self, path: str, data: bytes) -> str:
        self.answers[path] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data
        return self.url(path)

    def move(self, path: str, to: str) -> str:
        self.answers[path] = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()
        return self.url(path)


@contextlib.asynccontextmanager
async def file_server() -> AsyncIterator[FileServer]:
    """On a free port of this machine. A path without an answer never gets one."""
    files = FileServer()
    waiting = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            files.asked.append(path)
            if path in files.answers:
                writer.write(files.answers[path])
                await writer.drain()
            else:
                await waiting.wait()
        writer.close()

    server: Any = await asyncio.start_server(serve, "127.0.0.1", 0)
    files.port = server.sockets[0].getsockname()[1]
    try:
        yield files
    finally:
        waiting.set()
        server.close()
        await server.wait_closed()
