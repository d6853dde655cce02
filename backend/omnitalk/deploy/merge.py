"""How a deploy file is laid over its base: vLLM-Omni 0.30's own rules, so that ``show`` prints what the engine will use.

* Keys at the top replace the base's, ``duplex_session`` **whole**: an overlay that sets ``max_sessions`` drops every other session key of
  its base.
* ``connectors`` are merged deeply.
* ``stages`` are merged by ``stage_id``, key by key; a few keys of a stage (``MERGED_KEYS``) deeply, all others replaced.
* ``platforms`` are merged by platform and ``stage_id`` in the same way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MERGED_KEYS", "for_platform", "overlay"]

MERGED_KEYS = frozenset({"default_sampling_params", "default_pooling_params", "subtalker_sampling_params", "engine_extras", "engine_args"})

Data = dict[str, Any]


def overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> Data:
    """``top`` laid over ``base``. Neither is changed."""
    merged: Data = {**base, **{key: value for key, value in top.items() if key not in ("connectors", "stages", "platforms", "base_config")}}
    if base.get("connectors") or top.get("connectors"):
        merged["connectors"] = _deep(base.get("connectors") or {}, top.get("connectors") or {})
    merged["stages"] = _stages(base.get("stages") or (), top.get("stages") or ())
    if base.get("platforms") or top.get("platforms"):
        merged["platforms"] = _platforms(base.get("platforms") or {}, top.get("platforms") or {})
    return merged


def for_platform(data: Mapping[str, Any], platform: str = "cuda") -> list[Data]:
    """The stages as they run on ``platform``, by stage id."""
    own = ((data.get("platforms") or {}).get(platform) or {}).get("stages") or ()
    stages = {stage["stage_id"]: dict(stage) for stage in data.get("stages") or ()}
    for change in own:
        stage = stages.get(change["stage_id"])
        if stage is None:
            continue  # a platform changes stages, it never adds one
        for key, value in change.items():
            old = stage.get(key)
            stage[key] = {**old, **value} if key in MERGED_KEYS and isinstance(old, dict) and isinstance(value, dict) else value
    return [stages[stage_id] for stage_id in sorted(stages)]


def _stages(base: Sequence[Data], top: Sequence[Data]) -> list[Data]:
    merged = {stage["stage_id"]: stage for stage in base}
    for stage in top:
        old = merged.get(stage["stage_id"])
        merged[stage["stage_id"]] = stage if old is None else _stage(old, stage)
    return list(merged.values())


def _stage(old: Data, new: Data) -> Data:
    deep = _deep({k: v for k, v in old.items() if k in MERGED_KEYS}, {k: v for k, v in new.items() if k in MERGED_KEYS})
    return {**old, **new, **deep}


def _platforms(base: Mapping[str, Any], top: Mapping[str, Any]) -> Data:
    merged: Data = {}
    for name in sorted({*base, *top}):
        old, new = base.get(name) or {}, top.get(name) or {}
        merged[name] = {**old, **new, "stages": _stages(old.get("stages") or (), new.get("stages") or ())}
    return merged


def _deep(old: Mapping[str, Any], new: Mapping[str, Any]) -> Data:
    merged = dict(old)
    for key, value in new.items():
        before = merged.get(key)
        merged[key] = _deep(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged
