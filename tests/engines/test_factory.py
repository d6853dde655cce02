"""Which engine a server gets, and the sentence when it gets none."""

import subprocess
import sys

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.factory import make_engine
from omnitalk.settings import ServeSettings


def test_auto_is_the_cascade_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        engine = make_engine(ServeSettings(engine="auto"))
    assert engine.capabilities.name == "cascade"
    assert "needs a GPU and none was found" in caplog.text


def test_an_endpoint_is_named_honestly() -> None:
    engine = make_engine(ServeSettings(llm_base_url="http://127.0.0.1:9/v1", llm_model="big-model", max_calls=5))
    assert engine.capabilities.model == "big-model"
    assert "big-model" in engine.capabilities.honest
    assert engine.capabilities.max_sessions == 5


@pytest.mark.parametrize("mode", ["turn", "minicpm", "qwen3"])
def test_the_scripted_engine_in_its_modes(mode: str) -> None:
    assert make_engine(ServeSettings(engine="scripted", scripted_mode=mode)).capabilities.name == "scripted"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (ServeSettings(engine="omni"), "--engine cascade"),
        (ServeSettings(engine="remote"), "--ws-backend"),
        (ServeSettings(llm_base_url="http://127.0.0.1:9/v1"), "--llm-model"),
        (ServeSettings(llm_model="big-model"), "--llm-base-url"),
    ],
)
def test_what_cannot_be_had_is_said_in_a_sentence(settings: ServeSettings, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        make_engine(settings)


def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import omnitalk.engines.factory as factory

    monkeypatch.setattr(factory, "find_spec", lambda name: None if name == "hibari" else object())
    with pytest.raises(EngineError, match=r"hibari.*pip install 'omnitalk\[local\]'"):
        make_engine(ServeSettings(engine="cascade"))


async def test_missing_weights_are_said_with_the_command_that_gets_them(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("OMNITALK_CACHE", str(tmp_path))
    engine = make_engine(ServeSettings(engine="cascade"))
    with pytest.raises(EngineError, match="omnitalk models fetch"):
        await engine.start()
    health = engine.health()
    assert not health.ready
    assert health.problem is not None and "omnitalk models fetch" in health.problem


def test_making_an_engine_loads_no_runtime() -> None:
    code = (
        "import sys; from omnitalk.engines.factory import make_engine; from omnitalk.settings import ServeSettings; "
        "make_engine(ServeSettings(engine='cascade')); "
        "print(sorted({'ctranslate2', 'onnxruntime', 'xllamacpp', 'hibari', 'faster_whisper', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
