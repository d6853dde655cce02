"""Names the engine's own configuration class for ``auto_map``: a released model brings its own, this folder borrows the engine's."""

# Not a subclass: transformers makes a dataclass of every subclass, whose generated __init__ would leave the nested parts dicts.
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_llm import MiniCPMOConfig

__all__ = ["MiniCPMOConfig"]
