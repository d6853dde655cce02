"""Real Chromium, real audio graph, and a small server of the test's own: files of the repository, and a socket that the test scripts."""

import json
import mimetypes
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest_asyncio
from omnitalk.bench.chromium import executable
from playwright.async_api import Page, async_playwright
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

ROOT = Path(__file__).parents[2]
PAGE = b"<!doctype html><link rel=icon href=data:,><title>test</title>"
CHROMIUM = (
    "--no-sandbox",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)


def unpack(frame: str | bytes) -> tuple[dict[str, Any], bytes]:
    """A client's event and its sound."""
    if isinstance(frame, str):
        return json.loads(frame), b""
    magic, version, count, size = struct.unpack_from("<2sBBI", frame)
    assert (magic, version) == (b"OT", 1)
    start = 8 + 4 * count
    first = struct.unpack_from("<I", frame, 8)[0] if count else 0
    return json.loads(frame[start : start + size]), frame[start + size : start + size + first]


def delta(seq: int, response: str, pcm: bytes) -> bytes:
    """A piece of speech as the server frames it."""
    header = {
        "type": "response.output_audio.delta", "server_event_seq": seq, "response_id": response,
        "item_id": f"item_{response}", "sample_rate_hz": 24_000,
    }  # fmt: skip
    text = json.dumps(header).encode()
    return struct.pack("<2sBBII", b"OT", 1, 1, len(text), len(pcm)) + text + pcm


class Stage:
    """The page, and the script that answers its sockets."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self._server = page, server
        self.script: Callable[[ServerConnection], Awaitable[None]] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def run(self, body: str, argument: object = None) -> Any:
        """The value of an async function with this body; ``t`` is harness.js, ``arg`` the argument."""
        return await self.page.evaluate(f"async (arg) => {{ const t = await import('/tests/browser/harness.js'); {body} }}", argument)


def _file(_: ServerConnection, request: Request) -> Response | None:
    path = request.path.partition("?")[0]
    if path == "/v1/realtime":
        return None
    target = (ROOT / path.lstrip("/")).resolve()
    if path == "/":
        body, kind = PAGE, "text/html"
    elif target.is_file() and target.is_relative_to(ROOT) and path.startswith(("/shared_ui/", "/tests/browser/")):
        body, kind = target.read_bytes(), mimetypes.guess_type(path)[0] or "application/octet-stream"
    else:
        return Response(HTTPStatus.NOT_FOUND, "Not Found", Headers({"Content-Length": "0", "Connection": "close"}), b"")
    headers = Headers({"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"})
    return Response(HTTPStatus.OK, "OK", headers, body)


@pytest_asyncio.fixture
async def stage() -> AsyncIterator[Stage]:
    """A fresh browser on a blank page of our own server."""
    holder: list[Stage] = []

    async def answer(connection: ServerConnection) -> None:
        script = holder[0].script
        assert script is not None, "the page opened a socket and the test has no script for it"
        await script(connection)

    protocols = [Subprotocol("omnitalk.binary.v1")]
    async with (
        serve(answer, "127.0.0.1", 0, process_request=_file, subprotocols=protocols, close_timeout=1, max_queue=4) as server,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(executable_path=executable(), args=list(CHROMIUM))
        page = await browser.new_page()
        holder.append(Stage(page, server))
        await page.goto(holder[0].origin)
        yield holder[0]
        await browser.close()
