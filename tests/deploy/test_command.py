"""``omnitalk deploy`` as a person meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def _omnitalk(*arguments: str, first_on_path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(part for part in (str(first_on_path or ""), os.environ.get("PYTHONPATH", "")) if part)
    return subprocess.run(
        [sys.executable, "-m", "omnitalk.cli", "deploy", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "100", "PYTHONPATH": path, **environment},
        check=False,
    )


@pytest.fixture
def no_gpu(tmp_path: Path) -> str:
    """A PATH without nvidia-smi."""
    empty = tmp_path / "bin"
    empty.mkdir()
    return str(empty)


def test_the_list_names_every_file_with_its_calls(without_vllm: Path) -> None:
    told = _omnitalk("list", first_on_path=without_vllm)
    assert told.returncode == 0, told.stderr
    assert "minicpm_1gpu  (4 calls at once)" in told.stdout
    assert "minicpm_8x4090  (1 call at once)" in told.stdout
    assert "qwen3_omni_2gpu" in told.stdout


def test_a_machine_without_gpu_is_said_to_have_none(without_vllm: Path, no_gpu: str) -> None:
    told = _omnitalk("check", "minicpm_1gpu", first_on_path=without_vllm, PATH=no_gpu)
    assert told.returncode == 0, told.stderr
    assert "minicpmo_4_5.yaml of vLLM-Omni, which is not installed here" in told.stdout
    assert "This machine has no NVIDIA GPU" in told.stdout
    assert "0 thinker" in told.stdout


def test_this_machines_gpus_are_asked(without_vllm: Path, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, GPU-a, NVIDIA H100 80GB HBM3, 81559, 30720'\n")
    program.chmod(0o755)
    told = _omnitalk("check", "minicpm_1gpu", first_on_path=without_vllm, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert told.returncode == 1
    assert "30.0 in use by others: does not fit" in told.stdout
    program.write_text("#!/bin/sh\necho '0, GPU-a, NVIDIA H100 80GB HBM3, 81559, 0'\n")
    told = _omnitalk("check", "minicpm_1gpu", first_on_path=without_vllm, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert told.returncode == 0
    assert "NVIDIA H100 80GB HBM3 can hold it" in told.stdout


def test_show_prints_what_is_installed_laid_under_it(without_vllm: Path) -> None:
    base = without_vllm / "vllm_omni" / "deploy"
    base.mkdir()
    (base / "minicpmo_4_5.yaml").write_text("stages: [{stage_id: 0, max_num_batched_tokens: 4096}, {stage_id: 1}, {stage_id: 2}]\n")
    told = _omnitalk("show", "minicpm_1gpu", "--gpus", "h200", first_on_path=without_vllm)
    assert told.returncode == 0, told.stderr
    assert "over minicpmo_4_5.yaml\n" in told.stdout
    # A quarter of the batch that was measured.
    assert "~5.2" in told.stdout


def test_check_refuses_with_1_and_says_why(without_vllm: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base_config: minicpmo_4_5.yaml\npipeline: minicpmo_4_5\nsession_mode: duplex\nmax_sessions: 3\n")
    told = _omnitalk("check", str(path), "--gpus", "h200", first_on_path=without_vllm)
    assert told.returncode == 1
    assert "error: max_sessions is no key of a deploy file" in told.stdout
    # show only shows.
    assert _omnitalk("show", str(path), "--gpus", "h200", first_on_path=without_vllm).returncode == 0


def test_stages_of_one_host_are_checked_alone(without_vllm: Path) -> None:
    told = _omnitalk("check", "minicpm_2hosts", "--stage", "1", "--stage", "2", "--gpus", "4090", first_on_path=without_vllm)
    assert told.returncode == 0, told.stdout
    assert "0 thinker" not in told.stdout


def test_a_written_file_names_its_base_in_full(without_vllm: Path, tmp_path: Path) -> None:
    refused = _omnitalk("write", "minicpm_1gpu", "--to", str(tmp_path / "out.yaml"), first_on_path=without_vllm)
    assert refused.returncode == 1
    assert "write it where the model will run" in refused.stderr
    base = without_vllm / "vllm_omni" / "deploy"
    base.mkdir()
    (base / "minicpmo_4_5.yaml").write_text("stages: []\n")
    written = _omnitalk("write", "minicpm_1gpu", "--to", str(tmp_path / "out.yaml"), first_on_path=without_vllm)
    assert written.returncode == 0, written.stderr
    assert f"base_config: {base / 'minicpmo_4_5.yaml'}" in (tmp_path / "out.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "nothing_here"), "There is no file nothing_here"),
        (("show", "minicpm_1gpu", "--gpus", "many"), "--gpus: 'many' is not understood"),
        (("write", "minicpm_1gpu", "--to", "/nowhere/at/all.yaml"), "/nowhere/at"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments: tuple[str, ...], told: str, without_vllm: Path) -> None:
    base = without_vllm / "vllm_omni" / "deploy"
    base.mkdir()
    (base / "minicpmo_4_5.yaml").write_text("stages: []\n")
    refused = _omnitalk(*arguments, first_on_path=without_vllm)
    assert refused.returncode == 1
    assert refused.stderr.startswith("omnitalk: ")
    assert told in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
