"""A proxy that sends its own name as Host: the page's is believed from a trusted one, and from nobody else."""

import pytest
from omnitalk.settings import ServeSettings
from pydantic import ValidationError

from tests.websocket.live import DUPLEX, serving, talking

from .test_guard import refused, web

PAGE = {"origin": "https://talk.example.org", "x-forwarded-host": "talk.example.org", "x-forwarded-proto": "https"}


async def test_a_page_is_known_by_the_host_that_its_proxy_says() -> None:
    async with serving(gradio=False) as live, web(live) as client:
        assert (await client.get("/v1/realtime/ice_servers", headers=PAGE)).status_code == 200
        async with talking(live.ws(DUPLEX), additional_headers=PAGE) as socket:
            await socket.open()
        chained = {**PAGE, "x-forwarded-host": "talk.example.org, inner.example"}
        answer = await client.get("/", headers=chained)
        assert " wss://talk.example.org" in answer.headers["content-security-policy"]
        foreign = {**PAGE, "origin": "https://elsewhere.example"}
        assert (await client.get("/v1/realtime/ice_servers", headers=foreign)).status_code == 403
    async with serving(gradio=False, trusted_proxy=["192.0.2.0/24"]) as live, web(live) as client:
        assert (await client.get("/v1/realtime/ice_servers", headers=PAGE)).status_code == 403
        assert await refused(live, additional_headers=PAGE) == 403


@pytest.mark.parametrize("odd", ["x; script-src *", "talk.example.org/evil", "a" * 300, "", "[::1", "talk.example.org:port", "ümlaut"])
async def test_a_host_that_is_none_is_not_believed(odd: str) -> None:
    async with serving(gradio=False) as live, web(live) as client:
        answer = await client.get("/", headers={b"x-forwarded-host": odd.encode()})
        assert answer.status_code == 200
        assert f"connect-src 'self' ws://{live.host} wss://{live.host};" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "url", ["https://x", "wss://evil;x/", "wss://a b", "wss://user:pass@x", "talk.example.org", "wss:///x", "wss://x/#a"]
)
def test_an_address_that_is_none_for_sockets_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="written wss://"):
        ServeSettings(public_realtime_url=url)


@pytest.mark.parametrize("origin", ["https://x/", "talk.example.org", "https://x/path", "https://", "https://a b"])
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ValidationError, match="without a path"):
        ServeSettings(allow_origin=[origin])
