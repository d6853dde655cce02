"""Memory arithmetic: what a stage takes on a card, and what is left for the calls' context."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .facts import GIB, StageFacts
from .layout import StagePlan

__all__ = ["WINDOW", "StageMemory", "stage_memory", "window_marks"]

GRAPHS = 1.5
"""GiB of captured CUDA graphs and the CUDA context, outside a stage's budget."""

WINDOW = (8000, 6000)
"""vLLM-Omni's marks of the ``basic`` sliding window when a session does not set them: tokens that trim the context, and tokens left
after."""

_PREFIX = 1000
"""Tokens kept free below a limit: instructions and reference voice, which no window drops, and the unit being made."""


@dataclass(frozen=True, kw_only=True)
class StageMemory:
    """One replica of a stage on one card, GiB. ``cache``: for context, None = cannot be known. ``tokens``: what that cache holds.
    ``taken``: all that the stage may take on the card. ``short``: GiB that its budget lacks, 0 = it starts. ``estimate``: a number in it
    is not measured."""

    weights: float
    working: float
    cache: float | None
    tokens: int | None
    taken: float
    short: float
    estimate: bool


def stage_memory(stage: StagePlan, facts: StageFacts, card: float) -> StageMemory:
    """The arithmetic for a card of ``card`` GiB."""
    weights = facts.weights - facts.sharded + facts.sharded / stage.tensor_parallel
    working, guessed = facts.working, facts.estimate or stage.other_weights
    if facts.working_tokens is not None and stage.batched_tokens not in (None, facts.working_tokens):
        working, guessed = facts.working * (stage.batched_tokens or 0) / facts.working_tokens, True
    working += facts.per_seat * (stage.sequences or 1)
    graphs = 0.0 if stage.eager else GRAPHS
    if facts.kv_bytes == 0:
        # Without a cache nothing fills the stage's share of the card, and nothing stops at it either.
        taken = weights + working + graphs
        return StageMemory(weights=weights, working=working, cache=0.0, tokens=None, taken=taken, short=0.0, estimate=guessed)
    # Heads are divided; below one head a card they are copied.
    each = facts.kv_bytes / min(stage.tensor_parallel, facts.kv_heads) / (2 if stage.small_cache else 1)
    length = stage.model_len or facts.context or 0
    least = each * length / GIB
    if stage.cache_bytes is not None:
        cache = stage.cache_bytes / GIB
        taken, short = weights + working + cache + graphs, max(0.0, least - cache)
    elif stage.utilization is None:
        return StageMemory(
            weights=weights, working=working, cache=None, tokens=None, taken=weights + working + least + graphs, short=0.0, estimate=guessed
        )
    else:
        budget = card * stage.utilization
        cache = max(0.0, budget - weights - working)
        taken, short = budget + graphs, max(0.0, weights + working + least - budget)
    return StageMemory(
        weights=weights, working=working, cache=cache, tokens=math.floor(cache * GIB / each), taken=taken, short=short, estimate=guessed
    )


def window_marks(model_len: int, tokens_per_call: int | None) -> tuple[int, int] | None:
    """Marks of the ``basic`` sliding window that keep a call below ``model_len`` and its share of the cache; None when there is no room
    for one."""
    room = min(model_len, model_len if tokens_per_call is None else tokens_per_call) - _PREFIX
    high = min(WINDOW[0], room // 100 * 100)
    if high < 1000:
        return None
    return high, min(WINDOW[1], high * 3 // 4 // 100 * 100)


def taken_by_card(stages: Mapping[int, tuple[StagePlan, StageMemory]]) -> dict[int, float]:
    """GiB by GPU, over every replica of every stage on it."""
    cards: dict[int, float] = {}
    for stage, memory in stages.values():
        for replica in stage.replicas or ():
            for card in replica:
                cards[card] = cards.get(card, 0.0) + memory.taken
    return cards
