"""Small bases of the tests' own, in the place of vLLM-Omni's deploy files."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from omnitalk.deploy import DeployFile, Upstream, read

THREE_STAGES = """
pipeline: minicpmo_4_5
session_mode: duplex
duplex_session: {max_sessions: 4, idle_ttl_s: 300}
connectors:
  pipe: {name: SharedMemoryConnector, extra: {codec_chunk_frames: 25, connector_get_sleep_s: 0.01}}
stages:
  - {stage_id: 0, max_num_seqs: 4, gpu_memory_utilization: 0.55, max_num_batched_tokens: 16384, devices: "0"}
  - stage_id: 1
    max_num_seqs: 4
    gpu_memory_utilization: 0.15
    max_model_len: 4096
    devices: "0"
    output_connectors: {to_stage_2: pipe}
    default_sampling_params: {temperature: 0.8, top_k: 25}
  - stage_id: 2
    max_num_seqs: 4
    gpu_memory_utilization: 0.18
    enforce_eager: true
    devices: "0"
    input_connectors: {from_stage_1: pipe}
platforms:
  cuda:
    stages:
      - {stage_id: 1, kv_cache_memory_bytes: 2147483648}
"""

BASES = {
    "minicpmo_4_5.yaml": THREE_STAGES,
    "minicpmo_4_5_2gpu.yaml": "base_config: minicpmo_4_5.yaml\nstages: [{stage_id: 0, limit_mm_per_prompt: {video: 1}}]\n",
    "minicpmo_4_5_3gpu.yaml": THREE_STAGES,
    "minicpmo_4_5_3gpu_stage1_replicas.yaml": (
        "base_config: minicpmo_4_5.yaml\nstages:\n  - {stage_id: 1, devices: '1,2', num_replicas: 2, async_scheduling: false}\n"
        "platforms: {cuda: {stages: [{stage_id: 1, kv_cache_memory_bytes: null}]}}\n"
    ),
    "minicpmo_4_5_8x4090.yaml": THREE_STAGES.replace("max_num_seqs: 4", "max_num_seqs: 1, enforce_eager: true", 1),
    "qwen3_omni_moe.yaml": THREE_STAGES.replace("pipeline: minicpmo_4_5\n", "")
    .replace("duplex_session: {max_sessions: 4, idle_ttl_s: 300}\n", "")
    .replace("      - {stage_id: 1, kv_cache_memory_bytes: 2147483648}", "      - {stage_id: 1, enforce_eager: false}"),
    "qwen3_omni_duplex.yaml": "base_config: qwen3_omni_moe.yaml\nsession_mode: duplex\n",
}


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    """A folder of bases."""
    folder = tmp_path / "vllm_omni" / "deploy"
    folder.mkdir(parents=True)
    for name, text in BASES.items():
        (folder / name).write_text(text)
    return Upstream(folder, "0.30.0")


@pytest.fixture
def without_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where vLLM-Omni is not installed, whatever this one has. Gives the folder to put first on the path."""
    hidden = tmp_path / "hidden"
    (hidden / "vllm_omni").mkdir(parents=True)
    (hidden / "vllm_omni" / "__init__.py").write_text("raise RuntimeError('vllm_omni was imported')\n")
    monkeypatch.delitem(sys.modules, "vllm_omni", raising=False)
    monkeypatch.syspath_prepend(str(hidden))
    return hidden


@pytest.fixture
def overlay_file(tmp_path: Path, upstream: Upstream) -> Callable[[str], DeployFile]:
    """Writes a person's file and reads it over the bases."""

    def made(text: str) -> DeployFile:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return read(path, upstream)

    return made
