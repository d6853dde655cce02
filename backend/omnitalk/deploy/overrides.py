"""Keys of stages that are given at start instead of in a file: ``{"0": {"gpu_memory_utilization": 0.6}}``, as vLLM-Omni's
``--stage-overrides``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .files import DeployFileError
from .keys import stage_key_problems
from .report import Report

__all__ = ["overridden", "parse_overrides"]

_EXAMPLE = '{"0": {"gpu_memory_utilization": 0.6}}'


def parse_overrides(text: str) -> dict[int, dict[str, Any]]:
    """By stage id. Raises ``DeployFileError`` with a sentence that says what is wrong."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise DeployFileError(f"--stage-overrides is not JSON ({problem}); use {_EXAMPLE}") from None
    if not isinstance(data, dict):
        raise DeployFileError(f"--stage-overrides is an object of stages, not {type(data).__name__}; use {_EXAMPLE}")
    stages: dict[int, dict[str, Any]] = {}
    for number, keys in data.items():
        if not (number.isascii() and number.isdecimal()):
            raise DeployFileError(f"--stage-overrides: {number!r} is no stage id; use {_EXAMPLE}")
        if not isinstance(keys, dict):
            raise DeployFileError(f"--stage-overrides: stage {number} is an object of keys, not {type(keys).__name__}; use {_EXAMPLE}")
        stages[int(number)] = keys
    return stages


def overridden(
    report: Report, stages: Sequence[Mapping[str, Any]], overrides: Mapping[int, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """``stages`` with ``overrides`` laid over them; what cannot be is told to ``report``."""
    for number in sorted(set(overrides) - {stage["stage_id"] for stage in stages}):
        report.add("error", f"--stage-overrides: there is no stage {number}.")
    for number, keys in sorted(overrides.items()):
        for text in stage_key_problems(f"--stage-overrides: stage {number}", keys):
            report.add("error" if report.model is not None else "warning", text)
    for stage in stages:
        given = overrides.get(stage["stage_id"], {})
        # A null means "not given" there, so it takes nothing back.
        yield {**stage, **{key: value for key, value in given.items() if key != "stage_id" and value is not None}}
