"""Piper runs as a process of its own. A tiny program stands in for it: what matters is how it is called and how it fails."""

from pathlib import Path

import numpy as np
import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.cascade.tts import PiperVoice

PROGRAM = """#!/bin/sh
[ "$2" = "{model}" ] || exit 3
read words
[ "$words" = "fail" ] && {{ echo "voice is broken" >&2; exit 1; }}
printf '\\000\\100\\000\\300'
echo "$@" > {log}
"""


@pytest.fixture
def voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PiperVoice:
    """A voice whose program answers with two samples."""
    model = tmp_path / "lady.onnx"
    (tmp_path / "lady.onnx.json").write_text('{"audio": {"sample_rate": 22050}}')
    program = tmp_path / "piper"
    program.write_text(PROGRAM.format(model=model, log=tmp_path / "log"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return PiperVoice(model)


def test_a_clause_becomes_sound(voice: PiperVoice, tmp_path: Path) -> None:
    assert voice.rate == 22_050
    assert voice.voices == ("lady",)
    np.testing.assert_allclose(voice.say("Hello.", speed=2.0), [0.5, -0.5])
    assert "--length_scale 0.500 --output-raw" in (tmp_path / "log").read_text()


def test_what_the_program_complains_about_is_said(voice: PiperVoice) -> None:
    with pytest.raises(EngineError, match="voice is broken"):
        voice.say("fail")


def test_a_missing_program_or_voice_is_said(voice: PiperVoice, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="not on the PATH"):
        PiperVoice(tmp_path / "lady.onnx", command="piper-that-is-not-there")
    with pytest.raises(EngineError, match="sample_rate"):
        PiperVoice(tmp_path / "other.onnx")
