"""What docs/operations.md says of the files is so."""

import re
from collections.abc import Callable
from pathlib import Path

from omnitalk.deploy import DeployFile, Upstream, check, described, our_files, read
from omnitalk.deploy.facts import GIB, MODELS

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def test_the_table_holds_every_file_with_its_calls(without_vllm: Path) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]+\| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {path.stem: str(check(read(path)).sessions) for path in our_files()}


def test_the_context_of_a_call_is_what_check_computes(upstream: Upstream) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]+\| \d+ \| (?:80 GiB: )?(?:a turn of )?(\d+) k", PAGE, re.MULTILINE))
    cards = {"minicpm_1gpu": "h100", "minicpm_1gpu_48gb": "l40s", "minicpm_2hosts": "h100", "minicpm_8x4090": "8x4090"}
    for path in our_files():
        gpus = described(cards.get(path.stem, "8x4090" if "4090" in path.stem else "8xh100"))
        report = check(read(path, upstream), gpus, [0])
        first, sessions = report.stages[0], report.sessions or 1
        each = (report.memory[0].tokens or 0) // sessions
        length = first.model_len or 40_960
        assert round(min(each, length) / 1000) == int(rows[path.stem]), path.stem


def test_the_stages_table_is_the_arithmetic() -> None:
    stages = MODELS["minicpmo_4_5"].stages
    assert f"| {stages[0].weights} GiB, {stages[0].sharded} of them divisible | {stages[0].working} GiB at 16,384 tokens | 144 KiB" in PAGE
    assert (stages[0].kv_bytes, stages[1].kv_bytes) == (144 * 1024, 60 * 1024)
    assert f"| {stages[1].weights} GiB | {stages[1].working} GiB | 60 KiB a token |" in PAGE
    assert f"| {stages[2].weights} GiB | {stages[2].working} GiB + {stages[2].per_seat} for each call | none |" in PAGE
    assert GIB == 1024**3


def test_the_example_is_accepted(overlay_file: Callable[[str], DeployFile]) -> None:
    examples = re.findall(r"```yaml\n(base_config:.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 1
    report = check(overlay_file(examples[0]), described("h200"))
    assert report.accepted
    assert report.sessions == 2


def test_every_file_that_is_named_is_there() -> None:
    for name in re.findall(r"\.\./(deploy/\S+?)\)", PAGE):
        assert (Path(__file__).parents[2] / name).exists(), name
    named = set(re.findall(r"deploy (?:check|write|show) (minicpm\w+|qwen\w+)", PAGE))
    assert named <= {path.stem for path in our_files()}
    assert named
