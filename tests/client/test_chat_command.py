"""``omnitalk chat`` and ``scripts/curl_chat`` as a person runs them, against a live server on the test engine."""

import asyncio
import os
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from omnitalk.client.completions import ask
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.engines.scripted.script import Reply, Script

from tests.chat.files import film, picture, wav
from tests.websocket.live import Live, serving, tone_of

SCRIPT = Script(replies=(Reply(words="A red ball on white.", seconds=1.0, hz=500.0),) * 9, pace=100.0, first_sound_s=0.0)
ROOT = Path(__file__).parents[2]


async def run(where: Path, *command: str, **variables: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=where,
        env=os.environ | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def chat(live: Live, where: Path, *options: str) -> tuple[int, str, str]:
    return await run(where, sys.executable, "-m", "omnitalk.cli", "chat", "--api-base", f"http://{live.host}/v1", *options)


def spoken(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
        return bytes(file.readframes(file.getnframes()))


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
async def test_words_on_the_terminal_and_speech_in_a_file(stream: str, tmp_path: Path) -> None:
    async with serving(ScriptedEngine("qwen3", script=SCRIPT)) as live:
        code, out, err = await chat(live, tmp_path, "--modalities", "text,audio", stream, "--output", "said.wav")
        assert (code, out) == (0, "A red ball on white.\n"), err
        assert "first word after" in err and "1.0 s of speech in said.wav" in err and "5 out" in err
        assert tone_of(spoken(tmp_path / "said.wav")) == pytest.approx(500.0, abs=3.0)


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("use_image", {"image", "text"}),
        ("use_audio", {"audio", "text"}),
        ("use_video", {"video", "text"}),
        ("use_mixed", {"audio", "image", "video", "text"}),
    ],
)
async def test_every_kind_of_question_works_without_files(kind: str, sent: set[str], tmp_path: Path) -> None:
    engine = ScriptedEngine("qwen3", script=SCRIPT)
    async with serving(engine) as live:
        code, out, err = await chat(live, tmp_path, "--query-type", kind)
        assert (code, out) == (0, "A red ball on white.\n"), err
        assert {part.kind for part in engine.chats[-1].messages[0].parts} == sent


async def test_mistakes_are_said_in_a_sentence(tmp_path: Path) -> None:
    async with serving(ScriptedEngine(script=SCRIPT)) as live:
        for options, words in (
            (("--query-type", "use_image"), "does not see"),
            (("--query-type", "poem"), "--query-type"),
            (("--modalities", "smell"), "--modalities"),
            (("--query-type", "use_audio", "--audio", "none.wav"), "none.wav"),
            (("--model", "gpt"), "404"),
        ):
            code, _, err = await chat(live, tmp_path, *options)
            assert code == 1 and words in err and "Traceback" not in err
    code, _, err = await chat(live, tmp_path)
    assert code == 1 and "Traceback" not in err


async def test_vllm_omnis_dialect_is_read_too() -> None:
    body = {"messages": [{"role": "user", "content": "Hello."}], "modalities": ["text", "audio"], "stream": True}
    async with serving(ScriptedEngine(script=SCRIPT)) as live:
        said = await asyncio.to_thread(lambda: list(ask(f"http://{live.host}/v1", "none", body, {"X-Compat": "vllm-omni"})))
        assert "".join(each.text for each in said) == "A red ball on white."
        assert len(b"".join(each.pcm for each in said)) == 48_000


async def test_curl_asks_the_same(tmp_path: Path) -> None:
    script = str(ROOT / "scripts" / "curl_chat")
    for name, data in (("a.wav", wav()), ("a.png", picture()), ("a.mp4", film())):
        (tmp_path / name).write_bytes(data)
    engine = ScriptedEngine("qwen3", script=SCRIPT)
    async with serving(engine) as live:
        base = {"API_BASE": f"http://{live.host}/v1", "PROMPT": 'Say "hi"\nplease.'}
        code, out, err = await run(tmp_path, script, "use_mixed", "a.wav", "a.png", "a.mp4", **base, MODALITIES='["text","audio"]')
        assert code == 0 and "A red ball on white." in out, err
        assert np.frombuffer(spoken(tmp_path / "answer.wav"), "<i2").size == 24_000
        parts = engine.chats[-1].messages[0].parts
        assert [part.kind for part in parts] == ["audio", "image", "video", "text"] and parts[-1].text == base["PROMPT"]
        code, out, _ = await run(tmp_path, script, "text", **base, STREAM="true")
        assert code == 0 and out.rstrip().endswith("[DONE]")
        code, out, err = await run(tmp_path, script, "text", **base, MODEL="gpt")
        assert code == 1 and "model_not_found" in out and "404" in err
        code, _, err = await run(tmp_path, script, "use_image", **base)
        assert code == 1 and "FILE" in err
