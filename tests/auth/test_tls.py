"""TLS of the server's own, for phones on the same network."""

import datetime
import ssl
from pathlib import Path

import httpx
import pytest
from omnitalk import server
from omnitalk.certificates import lan_certificate
from omnitalk.settings import ServeSettings

from tests.websocket.live import serving


def test_a_certificate_is_made_once_kept_private_and_renewed_in_time(tmp_path: Path) -> None:
    certificate, key = lan_certificate(tmp_path)
    first = certificate.read_bytes()
    assert key.stat().st_mode & 0o077 == 0
    assert lan_certificate(tmp_path)[0].read_bytes() == first
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=390)
    assert lan_certificate(tmp_path, now=soon)[0].read_bytes() != first
    second = certificate.read_bytes()
    assert lan_certificate(tmp_path, names=["talk.example.org"])[0].read_bytes() != second
    certificate.write_bytes(b"broken")
    lan_certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    context.load_cert_chain(certificate, key)


async def test_the_server_speaks_tls_with_it_for_localhost_and_its_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "DATA", tmp_path)
    async with serving(ssl_self_signed=True) as live:
        trust = ssl.create_default_context(cafile=str(tmp_path / "tls/lan.pem"))
        async with httpx.AsyncClient(verify=trust, trust_env=False) as client:
            port = live.host.rpartition(":")[2]
            for host in (live.host, f"localhost:{port}"):
                assert (await client.get(f"https://{host}/healthz")).status_code == 200
            policy = (await client.get(f"https://localhost:{port}/")).headers["content-security-policy"]
            assert f"connect-src 'self' ws://localhost:{port} wss://localhost:{port};" in policy


async def test_the_policy_names_the_public_address_and_no_other() -> None:
    async with (
        serving(public_realtime_url="wss://calls.example.org:8443/v1/realtime") as live,
        httpx.AsyncClient(base_url=f"http://{live.host}", trust_env=False) as client,
    ):
        policy = (await client.get("/")).headers["content-security-policy"]
        assert f"connect-src 'self' ws://{live.host} wss://{live.host} wss://calls.example.org:8443;" in policy
        odd = await client.get("/", headers={"host": "x; script-src *"})
        assert "script-src *" not in odd.headers["content-security-policy"]


def test_half_a_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="needs its key"):
        ServeSettings(ssl_certfile=Path("a.pem"))
    with pytest.raises(ValueError, match="self-signed"):
        ServeSettings(ssl_self_signed=True, ssl_certfile=Path("a"), ssl_keyfile=Path("b"))
