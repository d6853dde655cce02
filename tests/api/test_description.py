"""``/openapi.json`` tells the truth: what it allows is taken, what it promises is sent."""

from typing import Any

import httpx
import jsonschema
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.engines.scripted.script import Script

from tests.websocket.live import serving

FAST = Script(pace=1000.0, first_sound_s=0.0)
ASK = {"messages": [{"role": "user", "content": "Hello."}]}


def schema_of(description: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """A part of the description that can be validated against on its own."""
    return {**part, "components": description["components"]}


def content(description: dict[str, Any], path: str, status: str | None = None) -> dict[str, Any]:
    operation = description["paths"][path]["post"]
    found: dict[str, Any] = (operation["requestBody"] if status is None else operation["responses"][status])["content"]
    return found


async def test_answers_and_refusals_are_as_described() -> None:
    async with serving(ScriptedEngine(script=FAST)) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        described = (await http.get("/openapi.json")).json()
        path = "/v1/chat/completions"
        bodies: list[tuple[dict[str, Any], str]] = [
            (ASK, "200"),
            ({**ASK, "modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}, "200"),
            ({"messages": "x"}, "400"),
            ({**ASK, "model": "none"}, "404"),
        ]
        for body, status in bodies:
            answer = await http.post(path, json=body)
            assert str(answer.status_code) == status
            jsonschema.validate(answer.json(), schema_of(described, content(described, path, status)["application/json"]["schema"]))


async def test_requests_are_judged_as_described() -> None:
    async with serving(ScriptedEngine("qwen3", script=FAST)) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        described = (await http.get("/openapi.json")).json()
        path = "/v1/chat/completions"
        schema = schema_of(described, content(described, path)["application/json"]["schema"])
        judge = jsonschema.Draft202012Validator(schema)
        changes: list[dict[str, Any]] = [
            {},
            {"temperature": 3},
            {"temperature": 1.5},
            {"messages": []},
            {"messages": [{"role": "tool", "content": "x"}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            {"stop": ["a", "b"]},
            {"stop": 3},
            {"max_tokens": 0},
            {"modalities": ["smell"]},
            {"n": 2},
        ]
        for change in changes:
            body = {**ASK, **change}
            taken = (await http.post(path, json=body)).status_code == 200
            assert judge.is_valid(body) == taken, change


async def test_every_reference_leads_somewhere_and_every_door_is_there() -> None:
    async with serving() as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        described = (await http.get("/openapi.json")).json()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(reference := node.get("$ref"), str):
                found: Any = described
                for name in reference.removeprefix("#/").split("/"):
                    found = found[name]
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(described)
    doors = {"/v1/chat/completions", "/v1/audio/speech", "/v1/audio/transcriptions", "/v1/models", "/v1/realtime/calls"}
    assert doors <= set(described["paths"])
