"""GPUs: described, and as ``nvidia-smi`` shows them."""

import os
from pathlib import Path

import pytest
from omnitalk.deploy import NoGpus, described, on_this_machine

TWO = "0, GPU-aaaa-1, NVIDIA H200, 143156, 4\n1, GPU-bbbb-2, NVIDIA GeForce RTX 4090, 24064, 2048\n"


@pytest.mark.parametrize(
    ("text", "totals"),
    [("80", [80]), ("2x80", [80, 80]), ("8x4090", [23.5] * 8), ("H200", [139.8]), ("80, 2x24", [80, 24, 24]), ("44.5", [44.5])],
)
def test_a_machine_is_described(text: str, totals: list[float]) -> None:
    assert [gpu.total for gpu in described(text)] == totals


@pytest.mark.parametrize("text", ["", "x", "0", "2x", "-3", "9999", "0x80", "80;24", "2xfoo", "nan", "inf", "1e3"])
def test_a_wrong_description_is_refused_by_name(text: str) -> None:
    with pytest.raises(NoGpus, match="--gpus"):
        described(text)


def test_what_nvidia_smi_shows_is_read() -> None:
    first, second = on_this_machine(lambda: TWO, {})
    assert first.name == "NVIDIA H200"
    assert first.total == pytest.approx(139.8, abs=0.05)
    assert second.used == 2.0


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("1", ["NVIDIA GeForce RTX 4090"]),
        ("1,0", ["NVIDIA GeForce RTX 4090", "NVIDIA H200"]),
        ("GPU-bbbb", ["NVIDIA GeForce RTX 4090"]),
        ("0,7,1", ["NVIDIA H200"]),
    ],
)
def test_only_what_a_server_here_would_see(visible: str, names: list[str]) -> None:
    assert [gpu.name for gpu in on_this_machine(lambda: TWO, {"CUDA_VISIBLE_DEVICES": visible})] == names


@pytest.mark.parametrize("visible", ["", "-1", "5"])
def test_hidden_gpus_are_said_to_be_hidden(visible: str) -> None:
    with pytest.raises(NoGpus, match="hides every GPU"):
        on_this_machine(lambda: TWO, {"CUDA_VISIBLE_DEVICES": visible})


def test_a_card_without_memory_of_its_own_is_no_gpu() -> None:
    with pytest.raises(NoGpus, match="shows no NVIDIA GPU"):
        on_this_machine(lambda: "0, GPU-a, NVIDIA X, [N/A], [N/A]\nNo devices were found\n", {})


def _program(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_program_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    _program(tmp_path, "echo '0, GPU-a, NVIDIA L40S, 46068, 1'")
    assert [gpu.name for gpu in on_this_machine(environment={})] == ["NVIDIA L40S"]
    _program(tmp_path, "echo 'NVIDIA-SMI has failed' >&2; exit 9")
    with pytest.raises(NoGpus, match="NVIDIA-SMI has failed"):
        on_this_machine(environment={})


def test_a_machine_without_the_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoGpus, match="has no NVIDIA GPU"):
        on_this_machine(environment={})
