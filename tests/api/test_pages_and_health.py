"""What a browser and an operator fetch: the page's files, the configuration, health, figures."""

from typing import Any

import httpx
import pytest
from omnitalk.engines.scripted import ScriptedEngine

from tests.websocket.live import Live, eventually, serving, talking


def http(live: Live, **options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://{live.host}", **options)


async def test_config_tells_the_page_everything_with_relative_urls() -> None:
    async with serving(ScriptedEngine("qwen3")) as live, http(live) as client:
        answer = await client.get("/config")
        config = answer.json()
        assert answer.headers["cache-control"] == "no-store"
        assert config["engine"]["name"] == "scripted"
        assert "test engine" in config["engine"]["honest"]
        assert config["ready"]["ready"] is True
        assert config["realtime"] == {"path": "v1/realtime", "public_url": None, "subprotocol": "omnitalk.binary.v1"}
        assert config["limits"]["grace_s"] == 30.0
        for profile in config["profiles"]:
            assert (await client.get("/" + profile["module"])).headers["content-type"].startswith("text/javascript")
        assert config["profile"] in [profile["id"] for profile in config["profiles"]]


async def test_files_are_revalidated_typed_compressed_and_guarded() -> None:
    async with serving() as live, http(live) as client:
        answer = await client.get("/shared_ui/vendor/lit.js", headers={"accept-encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "object-src 'none'" in answer.headers["content-security-policy"]
        again = await client.get("/shared_ui/vendor/lit.js", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1/nothing", "/shared_ui/nothing.js", "/profiles/../pyproject.toml", "/shared_ui/%2e%2e/README.md"]
)
async def test_what_is_not_there_is_said_in_json(path: str) -> None:
    async with serving() as live, http(live) as client:
        answer = await client.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("strips", [True, False])
async def test_a_prefix_works_whether_the_proxy_strips_it_or_not(strips: bool) -> None:
    async with serving(root_path="/voice/") as live, http(live) as client:
        prefix = "" if strips else "/voice"
        assert (await client.get(f"{prefix}/healthz")).status_code == 200
        assert (await client.get(f"{prefix}/shared_ui/vendor/lit.js")).status_code == 200
        async with talking(live.ws(path=f"{prefix}/v1/realtime")) as talker:
            await talker.open()


async def test_an_engine_that_cannot_start_is_said_and_the_server_lives() -> None:
    engine = ScriptedEngine(problem="The weights are missing: run `omnitalk models fetch`.")
    async with serving(engine, ready=False) as live, http(live) as client:
        await eventually(lambda: engine.health().problem is not None)
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["problem"]) == (503, "The weights are missing: run `omnitalk models fetch`.")


async def test_figures_tell_what_happened() -> None:
    async with serving(ScriptedEngine(max_sessions=1), queue_length=0) as live, http(live) as client:
        async with talking(live.ws()) as talker:
            await talker.open()
            await talker.ask("Tell me a long story.")
            await talker.until("response.output_audio.delta")
            await talker.send("omnitalk.interrupt")
            await talker.until("response.done")
            async with talking(live.ws()) as other:
                await other.send("session.update", session={})
                await other.error("resource_exhausted")
            figures = (await client.get("/metrics")).text
            for line in (
                "omnitalk_ready 1.0",
                "omnitalk_calls_live 1.0",
                "omnitalk_callers_refused_total 1.0",
                'omnitalk_interruptions_total{source="barge_in"} 1.0',
                "omnitalk_first_sound_seconds_count 1.0",
            ):
                assert line in figures
            await talker.hang_up()
        await eventually(lambda: not len(live.hub))
        assert 'omnitalk_calls_ended_total{reason="client_close"} 1.0' in (await client.get("/metrics")).text


async def test_a_folder_without_its_slash_is_where_the_page_says_it_is_also_behind_a_proxy() -> None:
    async with serving() as live, http(live) as client:
        answer = await client.get("/docs")
        assert answer.status_code == 307
        # Relative: nobody here knows what the proxy before us calls this place.
        assert answer.headers["location"] == "docs/"
