"""Whether the stages have room: on the cards of a file, and on the GPUs it is held against."""

from collections.abc import Sequence

from .facts import GIB
from .gpus import Gpu
from .memory import taken_by_card
from .report import CardUse, Report

__all__ = ["placement_rules"]

_MARGIN = 1.0
"""GiB of a card left to allocators and fragmentation."""

_SIDE_BY_SIDE = 2.0
"""GiB that vLLM-Omni keeps free for the graphs of each stage, and once more for others, when it starts stages side by side."""


def placement_rules(report: Report, gpus: Sequence[Gpu] | None) -> None:
    """Shares of a card, tensor parallelism, and the arithmetic of each card."""
    if gpus:
        _cards(report, gpus)
    _shares(report)
    for stage in report.stages:
        facts = report.model.stages.get(stage.stage_id) if report.model else None
        if facts is None:
            continue
        if facts.heads % stage.tensor_parallel:
            report.add(
                "error",
                f"Stage {stage.stage_id}: tensor_parallel_size {stage.tensor_parallel} does not divide the {facts.heads} attention heads.",
            )
        if stage.other_weights:
            report.add("note", f"Stage {stage.stage_id}: its weights are not in 16 bits; they are counted as if they were.")
        length = stage.model_len or facts.context
        if facts.context is not None and stage.model_len is not None and stage.model_len > facts.context:
            report.add("error", f"Stage {stage.stage_id}: max_model_len {stage.model_len} is more than the model's {facts.context} tokens.")
        if facts.whole_cache and stage.cache_bytes is not None and stage.sequences and length:
            least = facts.kv_bytes * stage.sequences * length // (2 if stage.small_cache else 1)
            if stage.cache_bytes < least:
                report.add(
                    "error",
                    f"Stage {stage.stage_id} ({facts.name}): {stage.sequences} sequences of {length} tokens need {least / GIB:.2f} GiB of "
                    f"cache, and kv_cache_memory_bytes is {stage.cache_bytes / GIB:.2f} GiB. A sequence pushed out of it cannot go on.",
                )


def _shares(report: Report) -> None:
    """vLLM-Omni caps a later stage at what is left, without failing: then it starves instead."""
    shares: dict[int, list[tuple[int, float]]] = {}
    for stage in report.stages:
        for replica in stage.replicas or ():
            for card in replica:
                if stage.utilization is not None:
                    shares.setdefault(card, []).append((stage.stage_id, stage.utilization))
    for card, parts in sorted(shares.items()):
        total = round(sum(share for _, share in parts), 4)
        if total <= 1:
            continue
        said = " + ".join(f"{share:g} (stage {stage_id})" for stage_id, share in parts)
        adds_up = f"GPU {card}: gpu_memory_utilization adds up to {total:g} = {said}"
        if any(use.index == card and use.fits for use in report.cards):
            # A fixed cache, or none, leaves most of a share unused.
            report.add("warning", f"{adds_up}. What the stages take fits, but vLLM-Omni will cap a later stage and say so.")
        else:
            hosts = "" if report.only is not None else " (Where stages run on different hosts, check each host's with --stage.)"
            report.add("error", f"{adds_up}; more than the whole card is given out.{hosts}")


def _cards(report: Report, gpus: Sequence[Gpu]) -> None:
    wanted = sorted({card for stage in report.stages for replica in stage.replicas or () for card in replica})
    beyond = [card for card in wanted if card >= len(gpus)]
    if beyond:
        have = "is 1 GPU" if len(gpus) == 1 else f"are {len(gpus)} GPUs"
        report.add("error", f"The file places stages on GPU {', '.join(map(str, beyond))}; there {have}, counted from 0.")
    by_id = {stage.stage_id: stage for stage in report.stages}
    taken = taken_by_card({number: (by_id[number], memory) for number, memory in report.memory.items()})
    for card, need in sorted(taken.items()):
        if card >= len(gpus):
            continue
        gpu = gpus[card]
        use = CardUse(card, gpu.name, need + _MARGIN, gpu.total, gpu.used)
        report.cards.append(use)
        if not use.fits:
            beside = f" beside the {gpu.used:.1f} GiB that are in use" if gpu.used >= 0.5 else ""
            report.add("error", f"GPU {card} ({gpu.name}): the stages may take {use.taken:.1f} of {gpu.total:.1f} GiB{beside}.")
        _side_by_side(report, card, gpu)
    for number, memory in sorted(report.memory.items()):
        facts = report.model.stages[number] if report.model else None
        stage = by_id[number]
        length = stage.model_len or (facts.context if facts else None)
        if facts is not None and facts.whole_cache and memory.tokens is not None and stage.sequences and length:
            wanted_tokens = stage.sequences * length
            if stage.cache_bytes is None and memory.tokens < wanted_tokens:
                report.add(
                    "error",
                    f"Stage {number} ({facts.name}): its share leaves a cache of {memory.tokens} tokens; {stage.sequences} sequences of "
                    f"{length} need {wanted_tokens}. A sequence pushed out of it cannot go on.",
                )
        if memory.short > 0 and facts is not None:
            share = "" if stage.utilization is None else f" Its share is {stage.utilization:g} of the card."
            parts = f"{memory.weights:.1f} of weights, {memory.working:.1f}{' (estimate)' if memory.estimate else ''} to work in"
            cache = " and the cache of one whole context" if facts.kv_bytes else ""
            report.add("error", f"Stage {number} ({facts.name}) lacks {memory.short:.1f} GiB for {parts}{cache}.{share}")


def _side_by_side(report: Report, card: int, gpu: Gpu) -> None:
    """vLLM-Omni's own sum, made before it starts stages of one card at the same time."""
    here = [stage for stage in report.stages if any(card in replica for replica in stage.replicas or ())]
    if len(here) < 2 or any(stage.utilization is None for stage in here):
        return
    needed = _SIDE_BY_SIDE + sum((stage.utilization or 0) * gpu.total + (0 if stage.eager else _SIDE_BY_SIDE) for stage in here)
    if needed > gpu.total:
        report.add(
            "note",
            f"GPU {card}: its stages start one after the other only. Side by side (parallel_stage_init) vLLM-Omni wants {needed:.1f} of "
            f"{gpu.total:.1f} GiB.",
        )
