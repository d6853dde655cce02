"""Pictures, sounds and films on their way to an engine."""

import base64
from pathlib import Path
from typing import Any

import pytest
from omnitalk.media.encoders import encode_speech
from omnitalk.media.sounds import read_sound

from .asking import asking, by_url, user
from .files import data_url, file_server, film, picture, wav


async def test_files_in_the_request_arrive_as_what_they_are_whatever_they_claim() -> None:
    async with asking() as asker:
        text, image, webp, sound, video = await asker.parts(
            {"type": "text", "text": "Look."},
            by_url("image_url", data_url(picture(), "image/gif")),
            by_url("image_url", data_url(picture(form="WEBP"))),
            by_url("audio_url", data_url(wav())),
            by_url("video_url", data_url(film())),
        )
        assert text.text == "Look."
        assert (image.mime, image.data) == ("image/png", picture())
        assert webp.mime == "image/png" and webp.data[:4] == b"\x89PNG"
        assert sound.mime == "audio/wav" and read_sound(sound.data, 16_000, 5.0).size == 8_000
        assert (video.kind, video.mime) == ("video", "video/mp4")


@pytest.mark.parametrize("form", ["wav", "flac", "mp3", "opus", "aac"])
async def test_sound_in_any_format_reaches_the_engine_as_16_khz_wav(form: Any) -> None:
    pcm = wav()[44:]
    async with asking() as asker:
        data = base64.b64encode(encode_speech(pcm, form)).decode()
        [sound] = await asker.parts({"type": "input_audio", "input_audio": {"data": data, "format": form}})
        assert sound.data[:4] == b"RIFF"
        assert read_sound(sound.data, 16_000, 5.0).size == pytest.approx(8_000, abs=1_000)


async def test_bare_samples_are_sound_too() -> None:
    async with asking() as asker:
        data = base64.b64encode(wav()[44:]).decode()
        [sound] = await asker.parts({"type": "input_audio", "input_audio": {"data": data, "format": "pcm16"}})
        assert read_sound(sound.data, 16_000, 5.0).size == 8_000


async def test_a_wav_that_a_pipe_wrote_claims_no_true_length() -> None:
    endless = bytearray(wav())
    endless[4:8] = endless[40:44] = b"\xff\xff\xff\xff"
    async with asking() as asker:
        [sound] = await asker.parts(by_url("audio_url", data_url(bytes(endless))))
        assert read_sound(sound.data, 16_000, 5.0).size == 8_000


async def test_files_are_fetched_where_the_host_allows_it() -> None:
    async with file_server() as files, asking(fetch_media="any") as asker:
        files.put("/a.png", picture())
        [image] = await asker.parts(by_url("image_url", files.move("/moved", "/a.png")))
        assert image.data == picture()
        assert files.asked == ["/moved", "/a.png"]


async def test_files_of_one_folder_are_read_where_the_host_allows_it(tmp_path: Path) -> None:
    folder = tmp_path / "media files"
    folder.mkdir()
    (folder / "a.png").write_bytes(picture())
    async with asking(allowed_local_media_path=folder) as asker:
        [image] = await asker.parts(by_url("image_url", (folder / "a.png").as_uri()))
        assert image.data == picture()


async def test_a_reference_voice_reaches_the_engine_as_wav() -> None:
    async with asking() as asker:
        answer = await asker.post({**user({"type": "text", "text": "Hi."}), "ref_audio": data_url(encode_speech(wav()[44:], "mp3"))})
        assert answer.status_code == 200
        voice = asker.engine.chats[-1].voice
        assert voice is not None and voice.startswith("data:audio/wav;base64,UklG")
