"""The pipelines' model runners on vLLM's CPU worker."""

from typing import Any

import vllm.v1.worker.cpu_worker as cpu_worker
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner
from vllm_omni.worker.gpu_generation_model_runner import GPUGenerationModelRunner
from vllm_omni.worker.mixins import OmniWorkerMixin

__all__ = ["ArWorker", "GenerationWorker"]


class _ArRunner(GPUARModelRunner, CPUModelRunner):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._postprocess_tensors()


class _GenerationRunner(GPUGenerationModelRunner, CPUModelRunner):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._postprocess_tensors()


class _Worker(OmniWorkerMixin, cpu_worker.CPUWorker):  # type: ignore[misc]
    model_runner_cls: type

    def init_device(self) -> None:
        # The CPU worker makes its runner from a name in its own module.
        self.use_v2_model_runner = False
        own = cpu_worker.CPUModelRunner
        cpu_worker.CPUModelRunner = self.model_runner_cls
        try:
            super().init_device()
        finally:
            cpu_worker.CPUModelRunner = own


class ArWorker(_Worker):
    """Thinker and Talker."""

    model_runner_cls = _ArRunner


class GenerationWorker(_Worker):
    """Code2Wav."""

    model_runner_cls = _GenerationRunner
