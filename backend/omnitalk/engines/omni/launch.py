"""Builds the engine in a thread and tells what it is doing meanwhile, stage by stage."""

import logging
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnitalk.deploy import DeployFile, write
from omnitalk.engines.base import EngineError

from .options import OmniOptions
from .plugin import OURS

__all__ = ["Progress", "build", "sentence"]

STAGES = ("Thinker", "Talker", "Code2Wav")


class Progress(logging.Handler):
    """Reads vLLM's log lines of this process for how far each stage is. ``told(stage sentence, share)``, from any thread."""

    _STEPS = (
        (re.compile(r"Launching Orchestrator"), "starting the stages", 0.05),
        (re.compile(r"stage-(\d+).*initializing EngineCore"), "{name}: weights loaded, starting", None),
        (re.compile(r"stage-(\d+).*EngineCore running"), "{name} is up", None),
    )

    def __init__(self, told: Callable[[str, float], None], stages: int) -> None:
        super().__init__(logging.INFO)
        self._told, self._stages = told, stages
        self._up: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """One log line."""
        try:
            line = record.getMessage()
        except Exception:
            self.handleError(record)
            return
        for pattern, text, share in self._STEPS:
            found = pattern.search(line)
            if found is None:
                continue
            name = ""
            if found.groups():
                number = int(found.group(1))
                name = STAGES[number] if number < len(STAGES) else f"stage {number}"
                if "running" in line:
                    self._up.add(number)
            done = share if share is not None else 0.1 + 0.7 * len(self._up) / max(1, self._stages)
            waiting = [STAGES[i] if i < len(STAGES) else f"stage {i}" for i in range(self._stages) if i not in self._up]
            rest = f"; waiting for {', '.join(waiting)}" if waiting and self._up else ""
            self._told(f"loading: {text.format(name=name)}{rest}", done)


def build(options: OmniOptions, deploy: DeployFile, told: Callable[[str, float], None], stages: int) -> Any:
    """The running engine (``DuplexOmni``). Blocks for minutes: call it in a thread. Raises ``EngineError`` with one sentence."""
    watch = Progress(told, stages)
    loggers = [logging.getLogger(name) for name in ("vllm", "vllm_omni")]
    for logger in loggers:
        logger.addHandler(watch)
    folder = tempfile.TemporaryDirectory(prefix="omnitalk-deploy-")
    try:
        told("loading: importing vLLM", 0.01)
        from vllm_omni.entrypoints.duplex_omni import DuplexOmni

        os.environ[OURS] = options.family
        _preload(options.model)
        arguments: dict[str, Any] = {
            "model": options.model,
            "trust_remote_code": True,
            "stage_init_timeout": options.stage_init_timeout_s,
            "init_timeout": options.init_timeout_s,
            "parallel_stage_init": True,
        }
        # vLLM-Omni looks for an inherited file only beside the one it is given.
        settled = Path(folder.name) / deploy.path.name
        write(deploy, settled)
        arguments["deploy_config"] = str(settled)
        if options.stage_overrides:
            arguments["stage_overrides"] = {stage: dict(values) for stage, values in options.stage_overrides.items()}
        return DuplexOmni(**arguments)
    except EngineError:
        raise
    except Exception as problem:
        raise EngineError("engine_error", sentence(problem), kind="server_error") from problem
    finally:
        folder.cleanup()
        for logger in loggers:
            logger.removeHandler(watch)


def _preload(model: str) -> None:
    """Loads the model's own configuration class once in this process, without a GPU: objects of it come back from the stages."""
    from transformers import AutoConfig

    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        AutoConfig.from_pretrained(model, trust_remote_code=True)
    finally:
        if hidden is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = hidden


_STAGE = re.compile(r"stage[-_ ]?(\d+)", re.IGNORECASE)


def sentence(problem: BaseException) -> str:
    """What went wrong, in words that help: the cause, the stage when it is named, and what to do."""
    chain: list[str] = []
    current: BaseException | None = problem
    while current is not None and len(chain) < 8:
        chain.append(f"{type(current).__name__}: {current}")
        current = current.__cause__ or current.__context__
    text = " | ".join(chain)
    found = _STAGE.search(text)
    number = int(found.group(1)) if found else None
    stage = f" ({STAGES[number]}, stage {number})" if number is not None and number < len(STAGES) else ""
    lower = text.lower()
    last = chain[-1].splitlines()[0][:300]
    if (
        "out of memory" in lower
        or "admission" in lower
        or "gpu_memory_utilization" in lower
        or "kv cache" in lower
        or "free memory" in lower
    ):
        override = f'{{"{number or 0}": {{"gpu_memory_utilization": 0.4}}}}'
        return (
            f"There is too little GPU memory{stage}: {last}. Lower that stage's share with --stage-overrides '{override}',"
            " use a deploy file for more GPUs, or stop what else uses the GPU."
        )
    if "no module named" in lower:
        return f"A part that the model needs is missing{stage}: {last}. Run `pip install 'omnitalk[gpu]'`."
    if "repository not found" in lower or "is not a local folder" in lower or "couldn't connect" in lower or "offline" in lower:
        return f"The model cannot be had: {last}. Give --model a folder that holds it, or a name on the hub and a network."
    if "address already in use" in lower:
        return f"A port that the stages talk over is in use: {last}. Stop the other server on this machine, or set VLLM_PORT."
    if "timed out" in lower or "timeout" in lower:
        return f"The model took too long to load{stage}: {last}. A slow disk needs a second try; the first has warmed its cache."
    return f"The model could not be started{stage}: {last}. The lines above this one tell more."
