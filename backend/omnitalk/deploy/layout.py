"""Stages on GPUs: which replica of which stage runs on which card, by vLLM-Omni 0.30's rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["LayoutError", "StagePlan", "plan"]


class LayoutError(Exception):
    """A stage cannot be placed; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """One stage as a file states it; None = vLLM decides. ``small_cache``: one byte a value. ``other_weights``: not in bf16. ``replicas``:
    the cards of each replica, as indices into what the server may see."""

    stage_id: int
    replicas: tuple[tuple[int, ...], ...] | None
    tensor_parallel: int = 1
    utilization: float | None = None
    cache_bytes: int | None = None
    sequences: int | None = None
    batched_tokens: int | None = None
    model_len: int | None = None
    eager: bool = False
    small_cache: bool = False
    other_weights: bool = False

    @property
    def capacity(self) -> int | None:
        """Sequences at once over all replicas."""
        return None if self.sequences is None else self.sequences * len(self.replicas or ((),))


def plan(stage: Mapping[str, Any], shared: Mapping[str, Any]) -> StagePlan:
    """Reads one stage. ``shared``: the keys at the file's top, which count where the stage says nothing. Raises ``LayoutError``."""
    number = stage["stage_id"]
    flat = {**stage, **(stage.get("engine_extras") or {}), **(stage.get("engine_args") or {})}
    runtime = stage.get("runtime") or {}
    devices = _devices(number, runtime.get("devices", stage.get("devices")))
    replicas = _whole(number, "num_replicas", runtime.get("num_replicas", stage.get("num_replicas", 1))) or 1
    tensor = _whole(number, "tensor_parallel_size", flat.get("tensor_parallel_size")) or 1
    pipeline = _whole(number, "pipeline_parallel_size", flat.get("pipeline_parallel_size", shared.get("pipeline_parallel_size"))) or 1
    data = _whole(number, "data_parallel_size", flat.get("data_parallel_size", shared.get("data_parallel_size"))) or 1
    utilization = flat.get("gpu_memory_utilization")
    if utilization is not None and (isinstance(utilization, bool) or not isinstance(utilization, int | float) or not 0 < utilization <= 1):
        raise LayoutError(f"Stage {number}: gpu_memory_utilization is a share of a GPU, more than 0 and at most 1, not {utilization!r}.")
    return StagePlan(
        stage_id=number,
        replicas=_split(number, devices, replicas, tensor * pipeline * data),
        tensor_parallel=tensor,
        utilization=None if utilization is None else float(utilization),
        cache_bytes=_whole(number, "kv_cache_memory_bytes", flat.get("kv_cache_memory_bytes")),
        sequences=_whole(number, "max_num_seqs", flat.get("max_num_seqs")),
        batched_tokens=_whole(number, "max_num_batched_tokens", flat.get("max_num_batched_tokens")),
        model_len=_whole(number, "max_model_len", flat.get("max_model_len")),
        eager=bool(flat.get("enforce_eager", False)),
        small_cache=str(flat.get("kv_cache_dtype") or "auto").startswith(("fp8", "int8")),
        other_weights=_other_weights(flat, shared),
    )


def _other_weights(flat: Mapping[str, Any], shared: Mapping[str, Any]) -> bool:
    dtype = flat.get("dtype", shared.get("dtype"))
    return bool(flat.get("quantization", shared.get("quantization"))) or dtype not in (None, "auto", "bfloat16", "float16", "half")


def _whole(number: int, key: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise LayoutError(f"Stage {number}: {key} must be a whole number from 1, not {value!r}.")
    return value


def _devices(number: int, value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = [part.strip() for part in str(value).split(",")]
    if isinstance(value, bool) or not isinstance(value, int | str) or not all(part.isdecimal() for part in parts):
        raise LayoutError(f'Stage {number}: devices is a list of GPU numbers in quotes, as "0,1", not {value!r}.')
    devices = tuple(int(part) for part in parts)
    if len(set(devices)) < len(devices):
        raise LayoutError(f"Stage {number}: devices names a GPU twice: {value!r}.")
    return devices


def _split(number: int, devices: tuple[int, ...] | None, replicas: int, each: int) -> tuple[tuple[int, ...], ...] | None:
    """One group of cards a replica: cut from a list that names all, or counted on from a list for the first."""
    if devices is None:
        return None
    if len(devices) == replicas * each:
        return tuple(devices[at : at + each] for at in range(0, len(devices), each))
    if len(devices) == each and max(devices) < each:
        return tuple(tuple(at * each + device for device in devices) for at in range(replicas))
    said = ",".join(map(str, devices))
    raise LayoutError(
        f'Stage {number}: devices "{said}" names {len(devices)} of the {replicas * each} GPUs it needs '
        f"({replicas} {'replica' if replicas == 1 else 'replicas'} of {each} in parallel)."
    )
