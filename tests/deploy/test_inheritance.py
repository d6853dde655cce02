"""A file over its base comes out as vLLM-Omni makes it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from omnitalk.deploy import DeployFile, DeployFileError, Upstream, find_upstream, read, write
from omnitalk.deploy.merge import for_platform

Overlay = Callable[[str], DeployFile]


def test_stages_are_laid_over_by_id_and_sampling_is_merged(overlay_file: Overlay) -> None:
    file = overlay_file(
        "base_config: minicpmo_4_5.yaml\nstages:\n"
        "  - {stage_id: 1, max_num_seqs: 6, default_sampling_params: {top_k: 10}}\n"
        "  - {stage_id: 0, limit_mm_per_prompt: {image: 8}}\n"
    )
    stages = {stage["stage_id"]: stage for stage in file.data["stages"]}
    assert stages[1]["max_num_seqs"] == 6
    assert stages[1]["gpu_memory_utilization"] == 0.15
    assert stages[1]["default_sampling_params"] == {"temperature": 0.8, "top_k": 10}
    assert stages[0]["limit_mm_per_prompt"] == {"image": 8}
    assert len(stages) == 3


def test_other_mappings_of_a_stage_are_replaced_whole(overlay_file: Overlay) -> None:
    file = overlay_file("base_config: minicpmo_4_5_2gpu.yaml\nstages: [{stage_id: 0, limit_mm_per_prompt: {image: 8}}]\n")
    assert file.data["stages"][0]["limit_mm_per_prompt"] == {"image": 8}


def test_the_session_block_is_replaced_whole(overlay_file: Overlay) -> None:
    assert overlay_file("base_config: minicpmo_4_5.yaml\nduplex_session: {max_sessions: 2}\n").data["duplex_session"] == {"max_sessions": 2}


def test_connectors_are_merged_deeply(overlay_file: Overlay) -> None:
    file = overlay_file("base_config: minicpmo_4_5.yaml\nconnectors: {pipe: {extra: {codec_chunk_frames: 12}}}\n")
    assert file.data["connectors"]["pipe"] == {
        "name": "SharedMemoryConnector",
        "extra": {"codec_chunk_frames": 12, "connector_get_sleep_s": 0.01},
    }


def test_a_platform_changes_stages_and_null_takes_a_value_back(overlay_file: Overlay) -> None:
    plain = overlay_file("base_config: minicpmo_4_5.yaml\n")
    assert for_platform(plain.data)[1]["kv_cache_memory_bytes"] == 2147483648
    replicas = overlay_file("base_config: minicpmo_4_5_3gpu_stage1_replicas.yaml\n")
    assert for_platform(replicas.data)[1]["kv_cache_memory_bytes"] is None
    assert "kv_cache_memory_bytes" not in for_platform(plain.data, "npu")[1]


def test_a_base_beside_the_file_comes_before_vllm_omnis(overlay_file: Overlay, tmp_path: Path) -> None:
    (tmp_path / "minicpmo_4_5.yaml").write_text("stages: [{stage_id: 7}]\n")
    file = overlay_file("base_config: minicpmo_4_5.yaml\n")
    assert [stage["stage_id"] for stage in file.data["stages"]] == [7]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("base_config: nowhere.yaml\n", "nowhere.yaml is neither beside it nor among"),
        ("base_config: sub/nowhere.yaml\n", "is no file"),
        ("base_config: 5\n", "must be the name of a file"),
        ("base_config: other.yaml\n", "goes in a circle"),
        ("- a\n", "is a mapping of keys, not list"),
        ("stages: {a: 1}\n", "is a list of stages"),
        ("stages: [{stage_id: one}]\n", "must be a whole number from 0, not 'one'"),
        ("stages: [{stage_id: 1}, {stage_id: 1}]\n", "stage_id 1 is there 2 times"),
        ("stages: [{stage_id: 1, engine_args: 3}]\n", "engine_args is a mapping"),
        ("platforms: {cuda: 3}\n", "platforms.cuda is a mapping"),
        ("duplex_session: 3\n", "duplex_session is a mapping"),
        ("pipeline: a\npipeline: b\n", "'pipeline' is there twice"),
        ("a: [\n", "mine.yaml"),
    ],
)
def test_what_cannot_be_read_is_named(overlay_file: Overlay, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "other.yaml").write_text("base_config: mine.yaml\n")
    with pytest.raises(DeployFileError) as refused:
        overlay_file(text)
    assert told in str(refused.value)
    assert "mine.yaml" in str(refused.value) or "other.yaml" in str(refused.value)


def test_the_installed_package_is_found_without_being_imported(without_vllm: Path) -> None:
    assert find_upstream() is None
    (without_vllm / "vllm_omni" / "deploy").mkdir()
    found = find_upstream()
    assert found is not None
    assert found.folder == without_vllm / "vllm_omni" / "deploy"


def test_without_vllm_omni_the_file_itself_is_still_read(without_vllm: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base_config: minicpmo_4_5.yaml\nstages: [{stage_id: 0, max_num_seqs: 2}]\n")
    file = read(path)
    assert file.missing_base == "minicpmo_4_5.yaml"
    assert file.data["stages"] == [{"stage_id": 0, "max_num_seqs": 2}]
    with pytest.raises(DeployFileError, match="not installed here"):
        write(file, tmp_path / "out.yaml")
    assert not (tmp_path / "out.yaml").exists()


def test_a_written_file_loads_from_anywhere_and_says_the_same(overlay_file: Overlay, upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "between.yaml").write_text("base_config: minicpmo_4_5.yaml\nduplex_session: {max_sessions: 3}\n")
    file = overlay_file("base_config: between.yaml\nstages: [{stage_id: 0, max_num_seqs: 3}]\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(file, elsewhere / "out.yaml")
    again = read(elsewhere / "out.yaml", upstream)
    assert again.own["base_config"] == str(upstream.folder / "minicpmo_4_5.yaml")
    assert {**again.data, "base_config": None} == {**file.data, "base_config": None}
    assert [path.name for path in elsewhere.iterdir()] == ["out.yaml"]
