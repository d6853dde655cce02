"""The command line as a person meets it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("fastapi", "uvicorn", "numpy", "msgspec", "pydantic", "onnxruntime", "ctranslate2", "aiortc", "gradio", "torch", "vllm", "httpx")


def _omnitalk(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "omnitalk.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "200", **environment},
        check=False,
    )


def test_help_names_the_commands_and_imports_nothing_heavy() -> None:
    told = _omnitalk("--help")
    assert told.returncode == 0
    for command in ("serve", "models", "deploy", "bench", "version"):
        assert command in told.stdout
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, omnitalk.cli; print('\\n'.join(sys.modules))"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = _omnitalk("serve", "--engine", "cascade", "--port", str(port))
    assert told.returncode == 1
    last = told.stderr.strip().splitlines()[-1]
    assert str(port) in last
    assert "--port" in last
    assert "Traceback" not in told.stderr


def test_a_wrong_engine_name_is_refused_by_name() -> None:
    told = _omnitalk("serve", "--engine", "telepathy")
    assert told.returncode == 1
    assert told.stderr.startswith("omnitalk: --engine")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--auth FOLDER/keys", "omnitalk auth new-key"),
        ("--ssl-certfile FOLDER/a.pem --ssl-keyfile FOLDER/a.key", "cannot be read"),
        ("--ssl-certfile FOLDER/junk --ssl-keyfile FOLDER/junk", "no certificate with its"),
        ("--public-realtime-url https://talk.example.org", "--public-realtime-url"),
        ("--allow-origin talk.example.org", "--allow-origin"),
        ("--trusted-proxy proxy.example", "--trusted-proxy"),
    ],
)
def test_a_server_that_cannot_be_made_says_why_and_not_that_it_is_there(tmp_path: Path, option: str, says: str) -> None:
    (tmp_path / "junk").write_text("junk")
    told = _omnitalk("serve", "--engine", "scripted", "--port", "0", *option.replace("FOLDER", str(tmp_path)).split())
    assert told.returncode == 1
    assert says in told.stderr.strip().splitlines()[-1]
    assert "Traceback" not in told.stderr
    assert "Omnitalk is on" not in told.stderr


def test_keys_are_found_by_either_variable(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    made = _omnitalk("auth", "new-key", "anna", OMNITALK_AUTH_FILE=str(file))
    assert made.returncode == 0
    assert made.stdout.startswith("ot_")
    assert "/signin?token=1.link." in _omnitalk("auth", "link", "anna", OMNITALK_AUTH=str(file)).stdout
    file.write_text("nonsense\n")
    for name in ("OMNITALK_AUTH", "OMNITALK_AUTH_FILE"):
        told = _omnitalk("serve", "--engine", "scripted", "--port", "0", **{name: str(file)})
        assert told.returncode == 1
        assert "line 1" in told.stderr


def test_missing_weights_are_one_sentence_with_the_command(tmp_path: Path) -> None:
    told = _omnitalk("models", "verify", "llm", OMNITALK_CACHE=str(tmp_path))
    assert told.returncode == 1
    assert "llm: model.gguf is missing" in told.stdout
    assert "omnitalk models fetch" in told.stderr


def test_the_list_shows_licence_and_size(tmp_path: Path) -> None:
    told = _omnitalk("models", "list", OMNITALK_CACHE=str(tmp_path))
    assert told.returncode == 0
    assert "Apache-2.0" in told.stdout
    assert "491.4 MB" in told.stdout


def test_web_names_a_backend_that_is_none() -> None:
    result = _omnitalk("web", "--ws-backend", "http://127.0.0.1:8099")
    assert result.returncode == 1
    assert "--ws-backend http://127.0.0.1:8099" in result.stderr
    assert "Traceback" not in result.stderr


def test_stage_overrides_must_be_json() -> None:
    result = _omnitalk("serve", "--engine", "omni", "--stage-overrides", "{0: 1}")
    assert result.returncode == 1
    assert "--stage-overrides is not JSON" in result.stderr


def test_webrtc_options_are_refused_by_name() -> None:
    for arguments, word in (
        (("--webrtc-ports", "90-10"), "--webrtc-ports: "),
        (("--webrtc-address", "here"), "--webrtc-address: "),
        (("--public-address", "my.host"), "--public-address: "),
        (("--ice-server", "http://x"), "--ice-server: "),
        (("--ice-server", "turn:x"), "OMNITALK_TURN_SECRET"),
    ):
        told = _omnitalk("serve", "--engine", "scripted", *arguments)
        assert told.returncode == 1 and word in told.stderr and "Traceback" not in told.stderr
