"""A CPU platform for vLLM-Omni's pipelines, which have none: for tests only."""

import os
from typing import Any

__all__ = ["platform"]


def platform() -> str:
    """Entry point: the name of the platform class. Also keeps each stage's worker inside its engine process."""
    _one_process_a_stage()
    return "omnitalk_cpu_engine.platform.CpuOmniPlatform"


def _one_process_a_stage() -> None:
    # vLLM's CPU platform starts a worker process even for one device, to bind threads: three processes more to start and to wait for.
    if os.environ.get("OMNITALK_CPU_UNI", "1") != "1":
        return
    from vllm.platforms.cpu import CpuPlatform

    own = CpuPlatform.__dict__["check_and_update_config"]
    if getattr(own, "omnitalk", False):
        return

    def check(cls: type, config: object) -> None:
        parallel = config.parallel_config  # type: ignore[attr-defined]
        wanted = parallel.distributed_executor_backend
        own.__get__(None, cls)(config)
        if wanted == "uni":
            parallel.distributed_executor_backend = "uni"

    patched: Any = classmethod(check)
    patched.omnitalk = True
    CpuPlatform.check_and_update_config = patched
