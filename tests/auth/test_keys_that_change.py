"""Keys come and go while the server runs."""

from pathlib import Path

import httpx
import pytest
from omnitalk.api.auth.guard import COOKIE
from omnitalk.api.auth.keys import Key, Keyring, add_key
from omnitalk.api.auth.limits import Limits
from omnitalk.api.auth.tokens import sign
from omnitalk.call.clock import ManualClock
from omnitalk.protocol.errors import ProtocolError

from tests.websocket.live import serving, talking

from .test_guard import NEVER, bearer, refused, web


def read(file: Path) -> str:
    return file.read_text()


def write(file: Path, text: str | None) -> None:
    """None: there is no such file any more."""
    if text is None:
        file.unlink()
    else:
        file.touch(0o600)
        file.write_text(text)


def take_out(file: Path, name: str) -> None:
    write(file, "".join(line for line in read(file).splitlines(keepends=True) if not line.startswith(f"key {name} ")))


async def status(client: httpx.AsyncClient, key: str) -> int:
    return (await client.get("/v1/models", headers=bearer(key))).status_code


async def test_a_new_key_counts_at_once_and_one_taken_out_ends_with_its_cookie_and_its_link(file: Path, key: str, ring: Keyring) -> None:
    async with serving(auth=file) as live, web(live) as client:
        bob = add_key(file, "bob")
        assert (await status(client, key), await status(client, bob)) == (200, 200)
        cookie = {"cookie": f"{COOKIE}={sign(ring.secret, 'cookie', 'anna', NEVER)}"}
        link = {"token": sign(ring.secret, "link", "anna", NEVER)}
        assert (await client.get("/config", headers=cookie)).status_code == 200
        assert (await client.get("/signin", params=link)).status_code == 303
        take_out(file, "anna")
        assert (await status(client, key), await status(client, bob)) == (401, 200)
        client.cookies.clear()
        assert (await client.get("/config", headers=cookie)).status_code == 401
        assert (await client.get("/signin", params=link)).status_code == 401
        assert await refused(live, additional_headers=bearer(key)) == 401


async def test_a_call_goes_on_when_its_key_is_taken_out(file: Path, key: str) -> None:
    async with serving(auth=file) as live:
        add_key(file, "bob")
        async with talking(live.ws(), additional_headers=bearer(key)) as call:
            await call.open()
            take_out(file, "anna")
            await call.ask()
            await call.until("response.done")


@pytest.mark.parametrize("broken", ["half a line", "", None])
async def test_a_file_that_cannot_be_used_changes_nothing(file: Path, key: str, broken: str | None) -> None:
    async with serving(auth=file) as live, web(live) as client:
        good = read(file)
        write(file, broken)
        assert await status(client, key) == 200
        assert await status(client, "ot_guess") == 401
        write(file, good)
        bob = add_key(file, "bob")
        assert (await status(client, key), await status(client, bob)) == (200, 200)


async def test_a_new_secret_signs_everybody_out(file: Path, key: str, ring: Keyring) -> None:
    async with serving(auth=file) as live, web(live) as client:
        cookie = {"cookie": f"{COOKIE}={sign(ring.secret, 'cookie', 'anna', NEVER)}"}
        assert (await client.get("/config", headers=cookie)).status_code == 200
        write(file, read(file).replace(f"secret {ring.secret.hex()}", f"secret {'ab' * 32}"))
        client.cookies.clear()
        assert (await client.get("/config", headers=cookie)).status_code == 401
        assert await status(client, key) == 200


def test_another_rate_counts_from_the_moment_it_is_written() -> None:
    limits = Limits(ManualClock())
    slow, quick = (Key(name="anna", digest="", per_minute=rate) for rate in (1, 3))
    limits.begin(slow)
    with pytest.raises(ProtocolError):
        limits.begin(slow)
    for _ in range(3):
        limits.begin(quick)
    with pytest.raises(ProtocolError):
        limits.begin(quick)
