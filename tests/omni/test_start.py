"""What is said when the engine cannot start, and what the stages load of ours."""

import importlib.metadata
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.omni import checks
from omnitalk.engines.omni.launch import Progress, sentence
from omnitalk.engines.omni.options import OmniOptions, read_deploy


def refused(options: OmniOptions) -> str:
    with pytest.raises(EngineError) as problem:
        checks.check(options)
    return problem.value.message


def test_no_gpu_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "accelerator", lambda: None)
    assert "--engine cascade" in refused(OmniOptions(model="m"))


def test_a_missing_package_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "accelerator", lambda: "a GPU")

    def nothing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    assert "omnitalk[gpu]" in refused(OmniOptions(model="m"))


def test_another_version_is_refused_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "accelerator", lambda: "a GPU")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.31.2")
    said = refused(OmniOptions(model="m"))
    assert "0.31.2" in said and "0.30" in said


def installed(monkeypatch: pytest.MonkeyPatch, modules: set[str]) -> None:
    monkeypatch.setattr(checks, "accelerator", lambda: "a GPU")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.30.0")
    monkeypatch.setattr(checks, "find_spec", lambda name: object() if name in modules else None)


def test_missing_speech_parts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, {"torchaudio", "s3tokenizer"})
    said = refused(OmniOptions(model="m"))
    assert "hyperpyyaml" in said and "stepaudio2-minicpmo" in said


def test_a_half_downloaded_model_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, {"torchaudio", "s3tokenizer", "hyperpyyaml", "stepaudio2"})
    assert "config.json" in refused(OmniOptions(model=str(tmp_path)))
    (tmp_path / "config.json").write_text("{}")
    assert "assets/token2wav/flow.pt" in refused(OmniOptions(model=str(tmp_path)))
    assert "no folder" in refused(OmniOptions(model=str(tmp_path / "elsewhere")))


def test_a_deploy_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(EngineError, match="no file nowhere"):
        read_deploy(OmniOptions(model="m", deploy_config="nowhere"))


def test_a_turn_deployment_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "turns.yaml"
    file.write_text("pipeline: minicpmo_4_5\nsession_mode: turn\nstages: [{stage_id: 0}]\n")
    with pytest.raises(EngineError, match="session_mode must be duplex"):
        read_deploy(OmniOptions(model="m", deploy_config=str(file)))


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RuntimeError("CUDA out of memory in stage-1"), ("Talker", "--stage-overrides")),
        (ModuleNotFoundError("No module named 'cosyvoice2'"), ("omnitalk[gpu]",)),
        (OSError("Address already in use"), ("port",)),
        (ValueError("Repository not found for 'x'"), ("--model",)),
        (TimeoutError("stage 2 timed out"), ("Code2Wav", "too long")),
        (ValueError("something new"), ("something new",)),
    ],
)
def test_each_common_failure_has_its_sentence(problem: Exception, words: tuple[str, ...]) -> None:
    said = sentence(problem)
    assert all(word in said for word in words), said
    assert "\n" not in said


def test_the_cause_is_what_is_told() -> None:
    try:
        try:
            raise RuntimeError("CUDA out of memory")
        except RuntimeError as cause:
            raise RuntimeError("Engine core initialization failed") from cause
    except RuntimeError as problem:
        assert "too little GPU memory" in sentence(problem)


def test_progress_says_which_stages_are_up(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    told: list[tuple[str, float]] = []
    watch = Progress(lambda stage, share: told.append((stage, share)), 3)
    logger = logging.getLogger("vllm_omni.test")
    logger.setLevel(logging.INFO)
    logger.addHandler(watch)
    try:
        logger.info("[OmniEngine] Launching Orchestrator thread with %d stages", 3)
        logger.info("[StageEngineCoreClient] stage-2 [rep-0] EngineCore running")
        logger.info("[StageEngineCoreClient] stage-0 [rep-0] EngineCore running")
        logger.info("something else")
    finally:
        logger.removeHandler(watch)
    assert [round(share, 2) for _, share in told] == [0.05, 0.33, 0.57]
    assert "waiting for Talker" in told[-1][0]


def test_the_alias_is_the_same_module_and_gives_way_to_a_real_one(tmp_path: Path) -> None:
    package = tmp_path / "stepaudio2" / "cosyvoice2" / "flow"
    package.mkdir(parents=True)
    for folder in (tmp_path / "stepaudio2", tmp_path / "stepaudio2" / "cosyvoice2", package):
        (folder / "__init__.py").write_text("")
    (package / "flow.py").write_text("class Flow: ...\n")
    program = textwrap.dedent(
        """
        from omnitalk.engines.omni.plugin import register
        register(); register()
        import cosyvoice2.flow.flow, stepaudio2.cosyvoice2.flow.flow
        assert cosyvoice2.flow.flow.Flow is stepaudio2.cosyvoice2.flow.flow.Flow
        try:
            import cosyvoice2.missing
        except ImportError:
            print("good")
        """
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2] / 'backend'}"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout == "good\n", run.stderr
    real = tmp_path / "real"
    (real / "cosyvoice2").mkdir(parents=True)
    (real / "cosyvoice2" / "__init__.py").write_text("real = True\n")
    program = "from omnitalk.engines.omni.plugin import register; register(); import cosyvoice2; print(cosyvoice2.real)"
    environment["PYTHONPATH"] = f"{real}:{environment['PYTHONPATH']}"
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout == "True\n", run.stderr
