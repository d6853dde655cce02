"""Whatever a file holds, it is read or refused by name: nothing else is raised."""

import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omnitalk.deploy import DeployFileError, Upstream, check, described, read
from omnitalk.deploy.schema import SESSION_KEYS, STAGE_KEYS, TOP_KEYS

scalars = st.none() | st.booleans() | st.integers(-5, 100_000) | st.floats(allow_nan=True) | st.text(string.printable, max_size=8)
values = st.recursive(
    scalars | st.sampled_from(["0", "0,1", "1,2,3", "minicpmo_4_5.yaml", "duplex", "minicpmo_4_5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(string.ascii_lowercase, max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _mapping(keys: frozenset[str], special: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    plain = st.dictionaries(st.sampled_from(sorted(keys - set(special))) | st.text(max_size=5), values, max_size=5)
    return st.builds(lambda one, two: {**one, **two}, plain, st.fixed_dictionaries({}, optional=special))


stage = _mapping(
    STAGE_KEYS,
    {
        "stage_id": st.integers(0, 3) | scalars,
        "devices": st.sampled_from(["0", "1", "0,1", "0,1,2,3"]) | scalars,
        "gpu_memory_utilization": st.floats(0.01, 1.0) | scalars,
        "max_num_seqs": st.integers(1, 9) | scalars,
        "tensor_parallel_size": st.sampled_from([1, 2, 4]) | scalars,
        "max_model_len": st.integers(1, 50_000) | scalars,
        "kv_cache_memory_bytes": st.integers(1, 10**11) | scalars,
        "input_connectors": st.dictionaries(st.just("from_stage_1"), st.just("pipe") | scalars),
    },
)
stages = st.lists(stage, max_size=4) | values
files = _mapping(
    TOP_KEYS,
    {
        "base_config": st.sampled_from(["minicpmo_4_5.yaml", "qwen3_omni_duplex.yaml"]) | values,
        "pipeline": st.sampled_from(["minicpmo_4_5", "qwen3_omni_moe"]) | values,
        "session_mode": st.just("duplex") | values,
        "duplex_session": _mapping(SESSION_KEYS, {"max_sessions": st.integers(1, 9) | scalars}) | values,
        "stages": stages,
        "platforms": st.dictionaries(st.sampled_from(["cuda", "npu"]), st.fixed_dictionaries({"stages": stages}) | values, max_size=2)
        | values,
        "connectors": st.dictionaries(st.just("pipe") | st.text(max_size=3), values, max_size=2) | values,
    },
)


@pytest.mark.parametrize("gpus", [None, "h200", "2x24"])
@given(data=files)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_it_is_judged_or_refused_by_name(gpus: str | None, data: dict[str, Any], upstream: Upstream, tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    try:
        file = read(path, upstream)
    except DeployFileError as refused:
        assert "any.yaml" in str(refused)
        return
    report = check(file, None if gpus is None else described(gpus))
    assert all(finding.text for finding in report.findings)


@given(raw=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_that_are_no_yaml_are_refused_by_name(raw: bytes, upstream: Upstream, tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(raw)
    try:
        read(path, upstream)
    except DeployFileError as refused:
        assert "any.yaml" in str(refused)
