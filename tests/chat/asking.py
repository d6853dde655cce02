"""A live server on the test engine, and questions with one file in them."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
from omnitalk.engines.chat import ChatPart
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.engines.scripted.script import Script

from tests.websocket.live import serving

PATH = "/v1/chat/completions"
URL_PARTS = ("image_url", "audio_url", "video_url")


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


def by_url(kind: str, url: str) -> dict[str, Any]:
    return {"type": kind, kind: {"url": url}}


class Asker:
    def __init__(self, http: httpx.AsyncClient, engine: ScriptedEngine) -> None:
        self.http, self.engine = http, engine

    async def post(self, body: Any, **options: Any) -> httpx.Response:
        return await self.http.post(PATH, json=body, **options)

    async def refused(self, body: Any, status: int, code: str, param: str | None = None) -> str:
        """Asks, and is refused like this; returns the message. The engine never saw it."""
        before = len(self.engine.chats)
        answer = await self.post(body)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (status, code, param), error
        assert len(error["message"]) > 10 and set(error) == {"message", "type", "param", "code"}
        assert len(self.engine.chats) == before
        return str(error["message"])

    async def parts(self, *parts: dict[str, Any]) -> tuple[ChatPart, ...]:
        """Asks, and gets what the engine was given."""
        answer = await self.post(user(*parts))
        assert answer.status_code == 200, answer.text
        return self.engine.chats[-1].messages[0].parts


@contextlib.asynccontextmanager
async def asking(**settings: Any) -> AsyncIterator[Asker]:
    engine = ScriptedEngine("qwen3", script=Script(pace=1000.0, first_sound_s=0.0))
    async with serving(engine, **settings) as live, httpx.AsyncClient(base_url=f"http://{live.host}", timeout=30) as http:
        yield Asker(http, engine)
