"""The sign-in page against what people and strangers send it, and what its cookies are good for."""

import asyncio
import logging
import time
from pathlib import Path

import pytest
from omnitalk.api.auth.cookies import COOKIE, COOKIE_S
from omnitalk.api.auth.keys import Keyring
from omnitalk.api.auth.tokens import sign

from tests.websocket.live import DUPLEX, serving, talking

from .test_guard import NEVER, bearer, refused, web

FILE = b'--x\r\nContent-Disposition: form-data; name="key"; filename="a"\r\n\r\nabc\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=x", b"garbage", 415),
        ("multipart/form-data", b"x", 415),
        ("multipart/form-data; boundary=x", FILE, 415),
        ("text/plain", b"key=abc", 415),
        ("application/x-www-form-urlencoded", b"\xff\xfe=%zz&key=%ff", 400),
        ("application/x-www-form-urlencoded", b"a=1&" * 50, 400),
        ("application/x-www-form-urlencoded", b"key=" + b"a" * 5_000, 413),
        ("application/x-www-form-urlencoded", b"", 401),
    ],
)
async def test_a_form_that_is_none_is_refused_with_a_reason(file: Path, key: str, kind: str, body: bytes, status: int) -> None:
    async with serving(auth=file) as live, web(live) as client:
        answer = await client.post("/signin", content=body, headers={"content-type": kind})
        assert answer.status_code == status
        assert 'role="alert"' in answer.text


async def test_a_guest_is_out_when_the_link_is_and_is_not_renewed(file: Path, key: str, ring: Keyring) -> None:
    async with serving(auth=file) as live, web(live) as client:
        soon = time.time() + 600
        entered = await client.get("/signin", params={"token": sign(ring.secret, "link", "anna", soon)})
        assert entered.status_code == 303
        age = int(entered.headers["set-cookie"].split("Max-Age=")[1].split(";")[0])
        assert 0 < age <= 600
        seen = await client.get("/config")
        assert seen.status_code == 200
        assert "set-cookie" not in seen.headers
        long = await client.get("/signin", params={"token": sign(ring.secret, "link", "anna", NEVER)})
        assert f"Max-Age={int(COOKIE_S)}" in long.headers["set-cookie"]
        # Who typed the key stays in while they keep coming.
        client.cookies.clear()
        old = sign(ring.secret, "cookie", "anna", time.time() + COOKIE_S / 3)
        assert COOKIE in (await client.get("/config", headers={"cookie": f"{COOKIE}={old}"})).headers["set-cookie"]
        expired = sign(ring.secret, "guest", "anna", 1_000)
        assert (await client.get("/config", headers={"cookie": f"{COOKIE}={expired}"})).status_code == 401


async def test_behind_a_prefix_the_cookie_stays_there_and_the_link_out_of_the_log(
    file: Path, key: str, ring: Keyring, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link = sign(ring.secret, "link", "anna", NEVER)
    async with serving(auth=file, log_level="debug", root_path="/talk") as live, web(live) as client:
        entered = await client.get("/talk/signin", params={"token": link})
        assert "Path=/talk/;" in entered.headers["set-cookie"]
        assert (await client.get("/talk/config")).status_code == 200
        assert await refused(live, subprotocols=[f"openai-insecure-api-key.{key}x"]) == 401
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "websockets")))
    assert "/signin?token=[withheld]" in ours
    assert link not in ours
    assert key not in ours


async def test_a_page_is_given_a_pass_for_its_socket_elsewhere_and_for_nothing_else(file: Path, key: str, ring: Keyring) -> None:
    cookie = {"cookie": f"{COOKIE}={sign(ring.secret, 'guest', 'anna', NEVER)}"}
    async with serving(auth=file) as live, web(live) as client:
        assert "pass" not in (await client.get("/config", headers=cookie)).json()["realtime"]
    async with (
        serving(auth=file, public_realtime_url="wss://elsewhere.example/v1/realtime", allow_origin=["*"]) as live,
        web(live) as client,
    ):
        given = (await client.get("/config", headers=cookie)).json()["realtime"]["pass"]
        assert "pass" not in (await client.get("/config", headers=bearer(key))).json()["realtime"]
        page = {"origin": "https://page.example"}
        async with talking(
            live.ws(DUPLEX), subprotocols=[f"openai-insecure-api-key.{given}", "realtime"], additional_headers=page
        ) as socket:
            await socket.open()
        assert (await client.get("/v1/models", headers=bearer(given))).status_code == 401
        assert (await client.get("/config", headers={"cookie": f"{COOKIE}={given}"})).status_code == 401
        old = sign(ring.secret, "socket", "anna", 1_000)
        assert await refused(live, subprotocols=[f"openai-insecure-api-key.{old}"]) == 401


async def test_open_files_open_no_others(file: Path, key: str) -> None:
    async with serving(auth=file) as live:
        host, port = live.host.split(":")
        for path in ("/icons/../index.html", "/icons/%2e%2e/index.html", "/icons/..%2findex.html", "/icons/x/../../config", "//config"):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {live.host}\r\nConnection: close\r\n\r\n".encode())
            assert b" 401 " in (await reader.read()).split(b"\r\n")[0], path
            writer.close()


async def test_a_star_among_the_origins_is_for_keys_and_not_for_cookies(file: Path, key: str, ring: Keyring) -> None:
    good = sign(ring.secret, "cookie", "anna", NEVER)
    foreign = {"origin": "https://elsewhere.example"}
    async with serving(auth=file, allow_origin=["*"]) as live, web(live) as client:
        with_cookie = {**foreign, "cookie": f"{COOKIE}={good}", "content-type": "application/sdp"}
        assert (await client.post("/v1/realtime/calls", content="v=0", headers=with_cookie)).status_code == 403
        with_key = {**foreign, **bearer(key), "content-type": "application/sdp"}
        assert (await client.post("/v1/realtime/calls", content="v=0", headers=with_key)).status_code == 400
        # A page that may come reads why it may not.
        wrong = await client.post("/v1/realtime/calls", content="v=0", headers={**foreign, **bearer("ot_guess")})
        assert (wrong.status_code, wrong.headers["access-control-allow-origin"]) == (401, foreign["origin"])
        assert wrong.headers["www-authenticate"].startswith("Bearer")
