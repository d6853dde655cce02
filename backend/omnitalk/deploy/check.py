"""Judges a deploy file: keys, stages, sessions, placement, and whether given GPUs can hold it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .facts import facts_for
from .files import DeployFile
from .gpus import Gpu
from .keys import unknown_keys
from .layout import LayoutError, StagePlan, plan
from .memory import stage_memory
from .merge import for_platform
from .overrides import overridden
from .report import Report
from .room import placement_rules
from .rules import call_rules, connector_rules, id_rules, session_rules

__all__ = ["check"]


def check(
    file: DeployFile,
    gpus: Sequence[Gpu] | None = None,
    only: Collection[int] | None = None,
    overrides: Mapping[int, Mapping[str, Any]] | None = None,
) -> Report:
    """Judges ``file`` as it runs on CUDA, against ``gpus`` when given.

    ``only``: the stages that this host runs when others run elsewhere. ``overrides``: keys by stage that are given when the model is
    started and win over the file (``parse_overrides``).
    """
    names = tuple(path.name for path in file.chain) + ((file.missing_base,) if file.missing_base else ())
    pipeline, model = facts_for(file.data.get("pipeline"), names)
    report = Report(file, pipeline=pipeline, model=model, only=None if only is None else frozenset(only))
    for text in unknown_keys(file):
        # The keys of image and video stages are not known here.
        report.add("error" if model is not None else "warning", text)
    if file.missing_base is not None:
        report.add(
            "note",
            f"vLLM-Omni is not installed here, so {file.missing_base}, which this file inherits, cannot be read: "
            "only what the file states itself is checked.",
        )
    if model is None:
        report.add("warning", f"Nothing is known of the memory of {pipeline or 'this model'}; only the file's form is checked.")
    id_rules(report)
    session_rules(report)
    connector_rules(report)
    for stated in overridden(report, for_platform(file.data), overrides or {}):
        try:
            report.stages.append(plan(stated, file.data))
        except LayoutError as problem:
            report.add("error", str(problem))
    if only is not None:
        absent = sorted(set(only) - {stage.stage_id for stage in report.stages})
        if absent:
            report.add("error", f"There is no stage {', '.join(map(str, absent))} in this file.")
        report.stages = [stage for stage in report.stages if stage.stage_id in only]
    if model is not None and gpus:
        for stage in report.stages:
            size = _smallest(stage, gpus)
            if size is not None and stage.stage_id in model.stages:
                report.memory[stage.stage_id] = stage_memory(stage, model.stages[stage.stage_id], size)
    placement_rules(report, gpus)
    call_rules(report)
    return report


def _smallest(stage: StagePlan, gpus: Sequence[Gpu]) -> float | None:
    """The smallest card that the stage is on, GiB; None when it is on none of them."""
    sizes = [gpus[card].total for replica in stage.replicas or ((0,),) for card in replica if card < len(gpus)]
    return min(sizes, default=None)
