"""Behind a real nginx and a real Caddy, with TLS, on the whole host and on a path, the prefix stripped or kept: everything works."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from omnitalk.api.auth.keys import Keyring, add_key
from omnitalk.api.auth.tokens import sign
from omnitalk.gradio_tab.sound import wav

from .support.browser import Caller, opened
from .support.proxies import proxied, there
from .support.recogniser import transcribe
from .support.server import Server, free_port, serving
from .support.speech import say

MOUNTS = [("/", False), ("/talk/", False), ("/talk/", True)]
PROXIES = [
    pytest.param(name, marks=pytest.mark.skipif(not there(name), reason=f"{name} is not installed (apt-get install {name})"))
    for name in ("nginx", "caddy")
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Starts a server with these options, once each."""
    running: dict[tuple[str, ...], Any] = {}

    def start(*options: str) -> Server:
        if options not in running:
            manager = serving(tmp_path_factory.mktemp("server") / "log", "--engine", "scripted", *options)
            running[options] = manager, manager.__enter__()
        found: Server = running[options][1]
        return found

    yield start
    for manager, _ in running.values():
        manager.__exit__(None, None, None)


def answered(caller: Caller) -> None:
    """A spoken question gets a spoken answer."""
    caller.say(say("Is anybody there?"))
    caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 20)
    caller.wait("session.state.activity === 'listening'", 20)


@pytest.mark.parametrize(("mount", "keeps"), MOUNTS)
@pytest.mark.parametrize("proxy", PROXIES)
def test_page_calls_and_documents_work(server: Callable[..., Server], tmp_path: Path, proxy: str, mount: str, keeps: bool) -> None:
    behind = server("--root-path", "/talk") if keeps else server()
    with proxied(proxy, tmp_path, behind.port, mount, keeps=keeps) as url:
        for path in ("websocket", "webrtc"):
            with opened(f"{url}?transport={path}", ear=False, scripted_mouth=True, ignore_https_errors=True) as caller:
                caller.call()
                assert caller.session("session.state.transport.kind") == path
                answered(caller)
                assert caller.errors == []
        with opened(f"{url}gradio/", ear=False, ignore_https_errors=True) as visitor:
            box = visitor.page.get_by_placeholder("Write, record")
            box.wait_for(timeout=30_000)
            recording = {"name": "question.wav", "mimeType": "audio/wav", "buffer": wav(bytes(48_000))}
            visitor.page.locator("input[type=file]").first.set_input_files(recording)  # type: ignore[arg-type]
            visitor.page.locator(".thumbnail-item").first.wait_for()
            box.fill("What was that?")
            box.press("Enter")
            visitor.page.get_by_text("it was sent").first.wait_for(timeout=20_000)
            assert [line for line in visitor.errors if "404" not in line] == []
        with httpx.Client(verify=False, base_url=url, trust_env=False, follow_redirects=True) as client:
            assert client.get("docs").status_code == 200
            assert client.get("openapi.json").json()["openapi"].startswith("3.")
            model = client.get("v1/models").json()["data"][0]["id"]
            body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "Say hello."}]}
            with client.stream("POST", "v1/chat/completions", json=body) as stream:
                assert stream.status_code == 200
                pieces = [piece for piece in stream.iter_raw() if piece.strip()]
            assert len(pieces) > 2, "events came one by one, not in one buffer"
            assert b"[DONE]" in pieces[-1]


@pytest.mark.skipif(not there("nginx"), reason="nginx is not installed (apt-get install nginx)")
def test_a_question_is_answered_by_voice_through_a_proxy(cascade_server: Server, tmp_path: Path) -> None:
    with (
        proxied("nginx", tmp_path, cascade_server.port, "/talk/") as url,
        opened(f"{url}?transport=websocket", scripted_mouth=True, ignore_https_errors=True) as caller,
    ):
        caller.call()
        caller.say(say("What is the capital of France?"))
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)", 40)
        caller.wait("session.state.activity === 'listening'", 40)
        assert "Paris" in transcribe(caller.heard().at_16k())


@pytest.mark.skipif(not there("nginx"), reason="nginx is not installed (apt-get install nginx)")
@pytest.mark.parametrize("way", ["websocket", "webrtc"])
def test_a_guarded_server_behind_a_proxy_with_a_host_of_its_own(tmp_path: Path, way: str) -> None:
    file = tmp_path / "keys"
    add_key(file, "anna")
    token = sign(Keyring.read(file).secret, "link", "anna", time.time() + 60)
    with (
        serving(tmp_path / "log", "--engine", "scripted", "--auth", str(file)) as behind,
        proxied("nginx", tmp_path, behind.port, "/talk/", own_host=True) as url,
        opened(f"{url}signin?token={token}", ear=False, scripted_mouth=True, ignore_https_errors=True) as caller,
    ):
        assert caller.page.url == url
        (cookie,) = caller.page.context.cookies()
        assert (cookie["path"], cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == ("/talk/", True, True, "Lax")
        caller.page.goto(f"{url}?transport={way}")
        caller.call()
        assert caller.session("session.state.transport.kind") == way
        answered(caller)
        assert caller.errors == []


@pytest.mark.skipif(not there("nginx"), reason="nginx is not installed (apt-get install nginx)")
def test_a_proxy_without_upgrades_is_named_and_another_address_helps(server: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        proxied("nginx", tmp_path / "one", server("--no-webrtc").port, upgrades=False) as url,
        opened(url, ear=False, scripted_mouth=True, ignore_https_errors=True) as caller,
    ):
        caller.page.get_by_role("button", name="Call", exact=True).click()
        alert = caller.page.get_by_role("alert")
        alert.get_by_text("No call gets through").wait_for(timeout=20_000)
        assert "does not forward WebSockets" in alert.inner_text()
    # The page stays behind the proxy that cannot; the socket goes by one that can.
    port = free_port()
    with proxied("nginx", tmp_path / "two", port) as able:
        public = able.replace("https:", "wss:") + "v1/realtime"
        options = ("--engine", "scripted", "--no-webrtc", "--public-realtime-url", public)
        with (
            serving(tmp_path / "log", *options, port=port) as behind,
            proxied("nginx", tmp_path / "one", behind.port, upgrades=False) as url,
            opened(url, ear=False, scripted_mouth=True, ignore_https_errors=True) as caller,
        ):
            caller.call()
            answered(caller)
            assert caller.errors == []
