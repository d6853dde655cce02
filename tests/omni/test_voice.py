"""Reference voices: the built-in one, one that a client brings, and what is refused."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from omnitalk.engines.base import EngineError
from omnitalk.engines.omni.voice import built_in, from_data_url, from_file


def wav(seconds: float) -> str:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(int(seconds * 16_000), np.float32), 16_000, format="WAV")
    return "data:audio/wav;base64," + base64.b64encode(file.getvalue()).decode()


def test_there_is_a_voice_of_our_own() -> None:
    voice = built_in()
    assert 3.0 < voice.seconds < 8.0
    assert from_data_url(voice.url).seconds == voice.seconds


def test_a_clients_voice_is_measured() -> None:
    assert from_data_url(wav(4.0)).seconds == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/voice.wav", "unsupported_ref_audio_path"),
        ("file:///etc/passwd", "unsupported_ref_audio_path"),
        ("data:audio/wav;base64,!!!", "bad_audio"),
        ("data:audio/wav;base64," + base64.b64encode(b"no sound").decode(), "bad_audio"),
        (wav(0.2), "bad_audio"),
        (wav(40.0), "bad_audio"),
    ],
)
def test_what_is_no_voice_is_refused_by_name(url: str, code: str) -> None:
    with pytest.raises(EngineError) as refused:
        from_data_url(url)
    assert refused.value.code == code
    assert refused.value.param == "session.ref_audio"


def test_a_voice_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"missing\.wav"):
        from_file(tmp_path / "missing.wav")
