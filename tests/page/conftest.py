"""The real page from the real server in a real Chromium. The call's socket is either the server's own or one that the test speaks through."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tests.websocket.live import serving

ROOT = Path(__file__).parents[2]
CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)


@dataclass
class Line:
    """The server's end of the page's socket: the test says what the server would say, and reads what the page sent."""

    port: int = 0
    received: list[dict[str, Any]] = field(default_factory=list)
    answers: bool = True
    _socket: ServerConnection | None = None
    _seq: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"

    async def handle(self, socket: ServerConnection) -> None:
        """One socket: opens a call for it, unless the test wants to do so later; keeps the JSON events that come."""
        self._socket = socket
        try:
            async for frame in socket:
                if not isinstance(frame, str):
                    continue  # microphone sound
                event = json.loads(frame)
                self.received.append(event)
                if event["type"] == "session.update" and self.answers:
                    await self.open()
                self._changed.set()
        except ConnectionClosed:
            return  # the page hung up without a goodbye; tests that care look at what came before

    async def open(self) -> None:
        """Tells the page that its call has begun."""
        await self.say("session.created", session_id="call_1", resume_token="token", session={"id": "call_1"})

    async def say(self, kind: str, **fields: Any) -> None:
        """One server event."""
        assert self._socket is not None, "the page has not called yet"
        self._seq += 1
        await self._socket.send(json.dumps({"type": kind, "event_id": f"event_{self._seq}", "server_event_seq": self._seq, **fields}))

    async def state(self, state: str) -> None:
        await self.say("omnitalk.state", state=state)

    async def got(self, kind: str) -> dict[str, Any]:
        """The first event of this type from the page; waits for it."""
        async with asyncio.timeout(10):
            while True:
                for event in self.received:
                    if event["type"] == kind:
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def hang_up(self, code: int = 1000, reason: str = "") -> None:
        assert self._socket is not None
        await self._socket.close(code, reason)

    def cut(self) -> None:
        """The network is gone, without a word."""
        assert self._socket is not None
        self._socket.transport.abort()


@dataclass
class Visit:
    """A page that is open, and what its console said."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    async def phase(self, phase: str) -> None:
        await self.page.wait_for_function("wanted => document.querySelector('omnitalk-call')?.session?.state.phase === wanted", arg=phase)

    async def call(self) -> None:
        await self.page.get_by_role("button", name="Call", exact=True).click()


def watch(page: Page) -> Visit:
    """Collects errors and warnings of this page's console, and what it throws."""
    visit = Visit(page)
    page.on("console", lambda message: visit.complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    return visit


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    """Chromium with a microphone that beeps."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(CHROMIUM))
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture
async def line() -> AsyncIterator[Line]:
    """A socket that the test speaks through."""
    line = Line()
    protocols = [Subprotocol("omnitalk.binary.v1")]
    server: Server
    async with serve(line.handle, "127.0.0.1", 0, subprotocols=protocols, close_timeout=0.5) as server:
        line.port = next(iter(server.sockets)).getsockname()[1]
        yield line


@pytest_asyncio.fixture
async def spoken_for(line: Line) -> AsyncIterator[str]:
    """The address of a real server whose calls go to ``line``."""
    async with serving(public_realtime_url=line.url) as live:
        yield f"http://{live.host}/"


@pytest_asyncio.fixture
async def visit(browser: Browser, spoken_for: str) -> AsyncIterator[Visit]:
    """The page on a desktop, its socket in the test's hands."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, permissions=["microphone"])
    visit = watch(await context.new_page())
    await visit.page.goto(spoken_for)
    yield visit
    await context.close()
