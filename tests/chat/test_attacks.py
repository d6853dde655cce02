"""Hostile and mistaken requests: each gets a clean 4xx that says what is wrong, and the engine never sees it."""

import asyncio
import base64
import json
import os
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from omnitalk.api.completions.wire import CompletionBody
from omnitalk.api.speech import SpeechBody
from omnitalk.engines.scripted import ScriptedEngine

from tests.websocket.live import serving

from .asking import PATH, URL_PARTS, asking, by_url, user
from .files import data_url, file_server, film, jpeg_bomb, picture, png_bomb, wav

TEXT = {"type": "text", "text": "Hello."}

INSIDE = [
    "http://127.0.0.1:{port}/secret",
    "http://localhost:{port}/secret",
    "http://2130706433:{port}/secret",
    "http://0x7f.1:{port}/secret",
    "http://0.0.0.0:{port}/secret",
    "http://[::1]:{port}/secret",
    "http://[::ffff:127.0.0.1]:{port}/secret",
    "http://[64:ff9b::7f00:1]:{port}/secret",
    "http://[2002:7f00:1::]:{port}/secret",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://172.16.0.1/",
    "http://[fe80::1]/",
    "http://224.0.0.1/",
]


@pytest.mark.parametrize("kind", URL_PARTS)
async def test_no_url_leads_inside_our_network(kind: str) -> None:
    async with file_server() as files, asking(fetch_media="public") as asker:
        files.put("/secret", picture())
        for pattern in INSIDE:
            message = await asker.refused(
                user(by_url(kind, pattern.format(port=files.port))), 400, "media_not_allowed", f"messages[0].content[0].{kind}"
            )
            assert "secret" not in message
        assert not files.asked


async def test_the_reference_voice_leads_nowhere_either() -> None:
    async with file_server() as files, asking(fetch_media="public") as asker:
        await asker.refused({**user(TEXT), "ref_audio": files.put("/secret", wav())}, 400, "media_not_allowed", "ref_audio")
        assert not files.asked


async def test_a_redirect_is_looked_at_like_any_url(monkeypatch: pytest.MonkeyPatch) -> None:
    # This machine's loopback stands for a public server here, and another loopback address for what lies behind it.
    from omnitalk.media import fetch

    public = fetch._public
    monkeypatch.setattr(fetch, "_public", lambda address: address == "127.0.0.1" or public(address))
    async with file_server() as files, asking(fetch_media="public") as asker:
        for to in (f"http://127.0.0.2:{files.port}/secret", "http://169.254.169.254/", "file:///etc/passwd", "gopher://127.0.0.1/"):
            url = files.move("/moved", to)
            answer = await asker.post(user(by_url("image_url", url)))
            assert answer.status_code == 400 and answer.json()["error"]["code"] in ("media_not_allowed", "bad_url")
        await asker.refused(
            user(by_url("image_url", files.move("/round", "/round"))), 400, "media_unreachable", "messages[0].content[0].image_url"
        )
        assert "/secret" not in files.asked


async def test_nothing_is_fetched_or_read_unless_the_host_says_so() -> None:
    async with file_server() as files, asking() as asker:
        for kind in URL_PARTS:
            where = f"messages[0].content[0].{kind}"
            await asker.refused(user(by_url(kind, files.put("/a", picture()))), 400, "media_not_allowed", where)
            await asker.refused(user(by_url(kind, "file:///etc/hostname")), 400, "media_not_allowed", where)
        assert not files.asked


@pytest.mark.parametrize(
    "url", ["ftp://host/a", "http://", "http://user:pass@host/", "javascript:alert(1)", "picture.png", "http://a b/", ""]
)
async def test_odd_urls(url: str) -> None:
    async with asking(fetch_media="public") as asker:
        await asker.refused(user(by_url("image_url", url)), 400, "bad_url", "messages[0].content[0].image_url")


async def test_a_server_that_is_slow_or_sends_too_much() -> None:
    async with file_server() as files, asking(fetch_media="any", fetch_within_s=0.3) as asker:
        where = "messages[0].content[0].image_url"
        await asker.refused(user(by_url("image_url", files.url("/silence"))), 400, "media_unreachable", where)
        files.answers["/huge"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx"
        await asker.refused(user(by_url("image_url", files.url("/huge"))), 413, "media_too_large", where)
        files.answers["/missing"] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        assert "404" in await asker.refused(user(by_url("image_url", files.url("/missing"))), 400, "media_unreachable", where)
        files.answers["/noise"] = b"\x00\x01\x02\r\n\r\n"
        await asker.refused(user(by_url("image_url", files.url("/noise"))), 400, "media_unreachable", where)


async def test_file_urls_stay_in_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (tmp_path / "media-other").mkdir()
    (tmp_path / "media-other" / "secret.png").write_bytes(picture())
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    os.mkfifo(folder / "pipe.png")
    async with asking(allowed_local_media_path=folder) as asker:
        for path in (
            f"{folder}/../secret.png",
            f"{folder}/%2e%2e/secret.png",
            f"{folder}/..%2fsecret.png",
            f"{folder}/link.png",
            f"{folder}/pipe.png",
            f"{folder}-other/secret.png",
            f"{folder}",
            f"{folder}/nothing.png",
            f"{folder}/%00.png",
            "/proc/self/environ",
        ):
            await asker.refused(user(by_url("image_url", f"file://{path}")), 400, "media_not_allowed", "messages[0].content[0].image_url")


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        ("image_url", png_bomb(), "bad_image"),
        ("image_url", jpeg_bomb(), "bad_image"),
        ("image_url", picture()[:60], "bad_image"),
        ("image_url", picture(4_000, 100), "bad_image"),
        ("image_url", b"GIF89a", "bad_image"),
        ("image_url", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "bad_image"),
        ("audio_url", b"RIFF\x00\x00\x00\x00WAVE", "bad_audio"),
        ("audio_url", wav()[:44], "bad_audio"),
        ("audio_url", b"OggS" + bytes(100), "bad_audio"),
        ("audio_url", film(), "bad_audio"),
        ("audio_url", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "bad_audio"),
        ("audio_url", b"ffconcat version 1.0\nfile /etc/passwd\n", "bad_audio"),
        ("audio_url", wav(301.0, 8_000), "audio_too_long"),
        ("video_url", b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1/\n", "bad_video"),
        ("video_url", film()[:200], "bad_video"),
        ("video_url", wav(), "bad_video"),
        ("video_url", film(700.0, 16), "video_too_long"),
    ],
)
async def test_files_that_are_not_what_a_model_may_see(kind: str, data: bytes, code: str) -> None:
    async with asking() as asker:
        await asker.refused(user(by_url(kind, data_url(data))), 400, code, f"messages[0].content[0].{kind}")


@pytest.mark.parametrize(
    ("sound", "code"),
    [
        ({"data": "!!!!", "format": "wav"}, "bad_url"),
        ({"data": "", "format": "wav"}, "bad_url"),
        ({"data": base64.b64encode(b"abc").decode(), "format": "pcm16"}, "bad_audio"),
        ({"data": base64.b64encode(b"not a sound").decode(), "format": "mp3"}, "bad_audio"),
    ],
)
async def test_sounds_of_wrong_lengths(sound: dict[str, str], code: str) -> None:
    async with asking() as asker:
        await asker.refused(user({"type": "input_audio", "input_audio": sound}), 400, code, "messages[0].content[0].input_audio")


async def test_many_parts() -> None:
    async with asking() as asker:
        await asker.refused(user(*[TEXT] * 10_000), 400, "invalid_value", "messages[0].content")
        spread = {"messages": [{"role": "user", "content": [TEXT] * 100}] * 3}
        await asker.refused(spread, 400, "too_many_parts", "messages[2].content")
        await asker.refused({"messages": [{"role": "user", "content": "x"}] * 600}, 400, "invalid_value", "messages")
        image = by_url("image_url", data_url(picture(16, 16)))
        await asker.refused(user(*[image] * 65), 400, "too_many_parts", "messages[0].content[64].image_url")
        video = by_url("video_url", data_url(film()))
        await asker.refused(user(video, video), 400, "too_many_parts", "messages[0].content[1].video_url")
        half = by_url("audio_url", data_url(wav(160.0, 8_000)))
        await asker.refused(user(half, half), 400, "audio_too_long", "messages[0].content[1].audio_url")


async def test_huge_bodies_and_files() -> None:
    async with asking(max_body_bytes=2_000_000) as asker:
        await asker.refused(user({"type": "text", "text": "x" * 3_000_000}), 413, "body_too_large")
        await asker.refused(user({"type": "text", "text": "x" * 9_000_000}), 413, "body_too_large")
    async with asking(max_body_bytes=64 * 1024 * 1024) as asker:
        large = "A" * (40 * 1024 * 1024)
        part = {"type": "input_audio", "input_audio": {"data": large, "format": "wav"}}
        await asker.refused(user(part), 413, "media_too_large", "messages[0].content[0].input_audio")


async def test_a_body_that_trickles_in_is_not_waited_for() -> None:
    async with serving(ScriptedEngine(), body_within_s=0.2) as live:
        host, port = live.host.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nHost: {live.host}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode()
        )
        writer.write(b'{"mess')
        await writer.drain()
        async with asyncio.timeout(10):
            answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 408 " in answer.split(b"\r\n")[0]
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        ({"messages": []}, 400, "invalid_value", "messages"),
        ({"messages": None}, 400, "invalid_value", "messages"),
        ({"messages": [{"role": "user"}]}, 400, "invalid_value", "messages[0].content"),
        ({"messages": [{"content": "x"}]}, 400, "missing_field", "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, "invalid_value", "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, 400, "invalid_value", "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "missing_field", "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, 400, "missing_field", "messages[0].content[0].type"),
        ({"model": "gpt-4o"}, 404, "model_not_found", "model"),
        ({"n": 2}, 400, "invalid_value", "n"),
        ({"temperature": 3}, 400, "invalid_value", "temperature"),
        ({"max_tokens": 0}, 400, "invalid_value", "max_tokens"),
        ({"modalities": ["video"]}, 400, "invalid_value", "modalities[0]"),
        ({"modalities": []}, 400, "invalid_value", "modalities"),
        ({"audio": {"format": "midi"}}, 400, "invalid_value", "audio.format"),
        ({"audio": {"voice": "nobody"}}, 400, "invalid_value", "audio.voice"),
        ({"audio": {"format": "mp3"}, "stream": True}, 400, "unsupported_parameter", "audio.format"),
        ({"tools": [{"type": "function"}]}, 400, "unsupported_parameter", "tools"),
        ({"priority": -100}, 400, "unsupported_parameter", "priority"),
        ({"chat_template": "{{ x }}"}, 400, "unsupported_parameter", "chat_template"),
        ({"stream": "yes"}, 400, "invalid_value", "stream"),
    ],
)
async def test_fields_that_make_no_sense(change: dict[str, Any], status: int, code: str, param: str) -> None:
    async with asking() as asker:
        await asker.refused({**user(TEXT), **change}, status, code, param)


async def test_bodies_that_are_no_requests() -> None:
    async with asking() as asker:
        kind = {"content-type": "application/json"}
        deep = b'{"messages":' + b"[" * 100_000
        for content in (b"", b"{", b"[]", b"null", b"\xff\xfe", deep, b'{"messages":"\\ud800"}'):
            answer = await asker.http.post(PATH, content=content, headers=kind)
            assert answer.status_code == 400, content[:20]
            assert answer.json()["error"]["code"] in ("invalid_json", "invalid_value")
        nested: Any = "x"
        for _ in range(500):
            nested = {"a": nested}
        assert (await asker.post({**user(TEXT), "messages": nested})).status_code == 400
        form = await asker.http.post(PATH, data={"messages": "x"})
        assert form.status_code == 415 and form.json()["error"]["code"] == "unsupported_media_type"
        assert (await asker.http.get(PATH)).status_code in (404, 405)
        assert not asker.engine.chats


async def test_pages_of_other_origins() -> None:
    async with asking(allow_origin=["https://friend.example"]) as asker:
        stranger = await asker.post(user(TEXT), headers={"origin": "https://stranger.example"})
        assert stranger.status_code == 403 and "access-control-allow-origin" not in stranger.headers
        friend = await asker.post(user(TEXT), headers={"origin": "https://friend.example"})
        assert friend.status_code == 200 and friend.headers["access-control-allow-origin"] == "https://friend.example"
        preflight = await asker.http.options(PATH, headers={"origin": "https://friend.example"})
        assert preflight.status_code == 204


async def test_an_engine_that_is_not_ready() -> None:
    engine = ScriptedEngine(loading=60.0)
    async with serving(engine, ready=False) as live, httpx.AsyncClient(base_url=f"http://{live.host}") as http:
        answer = await http.post(PATH, json=user(TEXT))
        assert answer.status_code == 503 and answer.json()["error"]["code"] == "engine_not_ready"
        assert answer.headers["retry-after"]


async def test_names_are_resolved_once_and_the_looked_at_address_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when looked at and inside a moment later finds nothing inside."""
    loop = asyncio.get_running_loop()
    real, answers = loop.getaddrinfo, ["203.0.113.0", "127.0.0.1"]

    async def fickle(host: Any, port: Any, **options: Any) -> Any:
        if host != "fickle.example":
            return await real(host, port, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0) if len(answers) > 1 else answers[0], port))]

    monkeypatch.setattr(loop, "getaddrinfo", fickle)
    from omnitalk.media import fetch

    monkeypatch.setattr(fetch, "_public", lambda address: address == "203.0.113.0")
    async with file_server() as files, asking(fetch_media="public", fetch_within_s=1.0) as asker:
        files.put("/secret", picture())
        await asker.refused(
            user(by_url("image_url", files.url("/secret", "fickle.example"))), 400, "media_unreachable", "messages[0].content[0].image_url"
        )
        assert not files.asked


async def test_an_answer_is_json_that_says_what_was_wrong() -> None:
    async with asking() as asker:
        answer = await asker.http.post(
            PATH, content=json.dumps({"messages": "x"}), headers={"content-type": "application/json; charset=utf-8"}
        )
        assert answer.json() == {
            "error": {
                "message": "messages: Expected `array`, got `str`.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "invalid_value",
            }
        }


ODD: list[Any] = [None, True, -1, 10**30, 1e308, "", "\x00", [], [[None]], {}, {"": [""]}]


@pytest.mark.parametrize("door", [PATH, "/v1/audio/speech"])
async def test_no_odd_value_anywhere_makes_the_server_fail(door: str) -> None:
    names = sorted(CompletionBody.__struct_fields__ if door == PATH else SpeechBody.__struct_fields__)
    names += ["response_format", "logit_bias", "tools", "priority", "user", "metadata", "made_up", ""]
    async with asking() as asker:
        good = user(TEXT) if door == PATH else {"input": "Hello."}
        for name in names:
            for value in ODD:
                answer = await asker.http.post(door, json={**good, name: value})
                assert answer.status_code in (200, 400, 404), (name, value, answer.text[:300])
        for name in ("role", "content", "audio", "name") if door == PATH else ():
            for value in ODD:
                answer = await asker.post({"messages": [{"role": "assistant", "content": "x", name: value}]})
                assert answer.status_code in (200, 400), (name, value, answer.text[:300])
