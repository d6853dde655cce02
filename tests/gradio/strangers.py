"""Somebody who talks to the demo's address without its page."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

__all__ = ["Stranger", "named", "paths_in"]


@dataclass
class Stranger:
    """Sends what they like. ``address`` ends with ``/gradio/``."""

    address: str

    async def ask(self, **given: Any) -> str:
        """Asks with these values by kind of component, and returns all that the server says until the answer's end."""
        session = uuid.uuid4().hex
        async with httpx.AsyncClient(base_url=self.address, trust_env=False, timeout=60) as client:
            config = (await client.get("config")).json()
            kinds = {each["id"]: each["type"] for each in config["components"]}
            asking = next(each for each in config["dependencies"] if each["api_name"] == "ask")
            values = [given.get(kinds[each]) for each in asking["inputs"]]
            body = {"data": values, "fn_index": asking["id"], "session_hash": session}
            joined = await client.post("gradio_api/queue/join", json=body)
            if joined.status_code != 200:
                return joined.text
            # The server ends this with the answer.
            return (await client.get("gradio_api/queue/data", params={"session_hash": session})).text

    async def read(self, path: str) -> httpx.Response:
        """A file of the server, by its path there."""
        async with httpx.AsyncClient(base_url=self.address, trust_env=False, timeout=60) as client:
            return await client.get(f"gradio_api/file={path}")


def named(path: str) -> dict[str, Any]:
    """A file that is said to have been uploaded."""
    return {"path": path, "meta": {"_type": "gradio.FileData"}, "orig_name": path.rpartition("/")[2]}


def paths_in(said: str) -> list[str]:
    """Where the server keeps the files it speaks of."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("path"), str):
                found.append(value["path"])
            for each in value.values():
                look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    for line in said.splitlines():
        if line.startswith("data:"):
            look(json.loads(line.removeprefix("data:")))
    return found
