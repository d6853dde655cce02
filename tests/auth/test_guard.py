"""A guarded server, as a program, a person's browser and a stranger meet it."""

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from omnitalk.api.auth.guard import COOKIE
from omnitalk.api.auth.keys import Keyring, add_key
from omnitalk.api.auth.tokens import sign
from openai import AsyncOpenAI
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from tests.websocket.live import DUPLEX, Live, serving

NEVER = 4e9


def web(live: Live, **more: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://{live.host}", trust_env=False, **more)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def refused(live: Live, **options: Any) -> int:
    with pytest.raises(InvalidStatus) as refusal:
        async with connect(live.ws(), **options):
            pass
    return int(refusal.value.response.status_code)


async def test_without_a_key_a_program_is_told_what_to_send_and_a_person_where_to_sign_in(file: Path, key: str) -> None:
    async with serving(auth=file) as live, web(live) as client:
        for path in ("/v1/models", "/config", "/metrics", "/shared_ui/omnitalk-call.js", "/docs", "/v1/realtime/ice_servers"):
            answer = await client.get(path)
            assert answer.status_code == 401, path
            assert answer.json()["error"]["code"] == "missing_api_key"
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert (await client.post("/v1/realtime/calls", content="v=0")).status_code == 401
        assert (await client.post("/v1/chat/completions", json={})).status_code == 401
        for path, back in (("/", "./signin"), ("/docs/", "../signin"), ("/profiles/cascade/profile.yaml", "../../signin")):
            answer = await client.get(path, headers={"accept": "text/html"})
            assert (answer.status_code, answer.headers["location"]) == (303, back)
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/signin")).status_code == 200
        assert (await client.get("/signin.css")).status_code == 200
        assert await refused(live) == 401


async def test_a_wrong_key_is_refused_everywhere_and_a_right_one_is_not(file: Path, key: str) -> None:
    async with serving(auth=file) as live, web(live) as client:
        assert (await client.get("/v1/models", headers=bearer(key))).status_code == 200
        wrong = await client.get("/v1/models", headers=bearer("ot_guess"))
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "invalid_api_key")
        assert await refused(live, additional_headers=bearer("ot_guess")) == 401
        async with connect(live.ws(DUPLEX), additional_headers=bearer(key)) as socket:
            await socket.send(json.dumps({"type": "session.update", "session": {}}))
            assert json.loads(await socket.recv())["type"] == "session.created"
        protocols = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{key}")]
        async with connect(live.ws("model=x"), subprotocols=protocols, origin=f"http://{live.host}") as socket:  # type: ignore[arg-type]
            assert json.loads(await socket.recv())["type"] == "session.created"
            assert socket.subprotocol == "realtime"


async def test_the_openai_package_comes_in_with_its_key(file: Path, key: str) -> None:
    async with serving(auth=file) as live:
        client = AsyncOpenAI(base_url=f"http://{live.host}/v1", api_key=key)
        assert (await client.models.list()).data
        async with client.realtime.connect(model="any") as call:
            assert (await call.recv()).type == "session.created"
        await client.close()


async def test_a_person_signs_in_and_the_page_works_from_there(file: Path, key: str) -> None:
    async with serving(auth=file) as live, web(live) as client:
        page = await client.post("/signin", data={"key": "ot_guess"})
        assert page.status_code == 401
        assert "not known" in page.text and "ot_guess" not in page.text
        entered = await client.post("/signin", data={"key": key}, headers={"origin": f"http://{live.host}"})
        assert (entered.status_code, entered.headers["location"]) == (303, "./")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie and key not in cookie
        assert (await client.get("/config")).status_code == 200
        cookies = {"Cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
        own = f"http://{live.host}"
        async with connect(live.ws(DUPLEX), additional_headers=cookies, origin=own) as socket:  # type: ignore[arg-type]
            await socket.send(json.dumps({"type": "session.update", "session": {}}))
            assert json.loads(await socket.recv())["type"] == "session.created"
        # What a foreign page makes a browser send, and a program that found a cookie.
        assert await refused(live, additional_headers=cookies, origin="https://evil.example") == 403
        assert await refused(live, additional_headers=cookies) == 403
        for origin in ({"origin": "https://evil.example"}, {}):
            answer = await client.post("/v1/realtime/calls", content="v=0", headers={"content-type": "application/sdp", **origin})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")


async def test_cookies_that_are_expired_forged_or_of_a_key_that_is_gone_are_no_cookies(file: Path, key: str, ring: Keyring) -> None:
    good = sign(ring.secret, "cookie", "anna", NEVER)
    bad = {
        "expired": sign(ring.secret, "cookie", "anna", 1_000),
        "another secret": sign(b"x" * 32, "cookie", "anna", NEVER),
        "a link": sign(ring.secret, "link", "anna", NEVER),
        "nobody": sign(ring.secret, "cookie", "eve", NEVER),
        "longer": good.replace("4000000000", "5000000000"),
        "nonsense": "1.cookie..",
        "very long": "a" * 7_000,
    }
    async with serving(auth=file) as live, web(live) as client:
        assert (await client.get("/config", headers={"cookie": f"{COOKIE}={good}"})).status_code == 200
        for what, value in bad.items():
            assert (await client.get("/config", headers={"cookie": f"{COOKIE}={value}"})).status_code == 401, what


async def test_a_link_signs_in_once_it_is_opened_and_leaves_no_trace(
    file: Path, key: str, ring: Keyring, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link = sign(ring.secret, "link", "anna", NEVER)
    async with serving(auth=file, log_level="debug") as live, web(live) as client:
        answer = await client.get("/signin", params={"token": link})
        assert (answer.status_code, answer.headers["location"]) == (303, "./")
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert link not in answer.headers["set-cookie"]
        assert (await client.get("/config")).status_code == 200
        old = await client.get("/signin", params={"token": sign(ring.secret, "link", "anna", 1_000)})
        assert old.status_code == 401 and "not any more" in old.text
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore")))
    assert "/signin" in ours
    assert link not in ours
    assert key not in ours


async def test_guessing_is_slow(file: Path, key: str) -> None:
    async with serving(auth=file) as live, web(live) as client:
        statuses = [(await client.post("/signin", data={"key": f"ot_{i}"})).status_code for i in range(14)]
        assert statuses[:10] == [401] * 10
        assert set(statuses[10:]) == {429}
        # Programs with a key are not kept out by somebody's guesses.
        assert (await client.get("/v1/models", headers=bearer(key))).status_code == 200


def limit_first_key(file: Path) -> None:
    lines = [line + " per_minute=5 at_once=1" if "anna" in line else line for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")


async def test_each_key_has_its_own_share(file: Path, key: str) -> None:
    second = add_key(file, "bob")
    limit_first_key(file)
    async with serving(auth=file) as live, web(live) as client:
        async with connect(live.ws(DUPLEX), additional_headers=bearer(key)):
            assert (await client.get("/v1/models", headers=bearer(key))).status_code == 200
            busy = await client.post("/v1/chat/completions", headers=bearer(key), json={})
            assert (busy.status_code, busy.json()["error"]["code"]) == (429, "rate_limit_exceeded")
            assert "at once" in busy.json()["error"]["message"]
            assert busy.headers["retry-after"]
            assert await refused(live, additional_headers=bearer(key)) == 429
            assert (await client.get("/v1/models", headers=bearer(second))).status_code == 200
        statuses = [(await client.get("/v1/models", headers=bearer(key))).status_code for _ in range(5)]
        assert statuses[-1] == 429


async def test_headers_that_claim_to_come_from_a_proxy_count_only_from_one(file: Path, key: str) -> None:
    data = {"key": key}
    tls = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
    async with serving(auth=file) as live, web(live) as client:
        assert "Secure" in (await client.post("/signin", data=data, headers=tls)).headers["set-cookie"]
        for claimed in ("a" * 5_000, "203.0.113.9:1234", "[::1]:99", "[::1", "203.0.113.9, evil", ","):
            assert (await client.get("/signin", headers={"x-forwarded-for": claimed})).status_code == 200
    async with serving(auth=file, trusted_proxy=["192.0.2.0/24"]) as live, web(live) as client:
        assert "Secure" not in (await client.post("/signin", data=data, headers=tls)).headers["set-cookie"]
        client.cookies.clear()
        odd = {"x-forwarded-proto": "javascript, https", "x-forwarded-for": "a" * 5_000, "x-forwarded-prefix": "//evil.example"}
        for name, value in odd.items():
            answer = await client.get("/", headers={"accept": "text/html", name: value})
            assert (answer.status_code, answer.headers["location"]) == (303, "./signin")


async def test_a_prefix_counts_when_a_trusted_proxy_says_it_and_when_it_is_one() -> None:
    told = {"accept": "text/html", "x-forwarded-prefix": "/some/talk"}
    async with serving(gradio=False) as live, web(live) as client:
        made = await client.get("/config", headers=told)
        assert made.status_code == 200
        assert (await client.get("/some/talk/config", headers=told)).status_code == 200
        # No such place, and nothing of it comes back in a redirect.
        for odd in ("//evil.example", "/../etc", "/a b", "/x\tset", "/" + "a" * 5_000, "/..", "/a/./b"):
            assert (await client.get("/config", headers={"x-forwarded-prefix": odd})).status_code == 200
    async with serving(trusted_proxy=["192.0.2.1"], gradio=False) as live, web(live) as client:
        assert (await client.get("/some/talk/config", headers=told)).status_code == 404
