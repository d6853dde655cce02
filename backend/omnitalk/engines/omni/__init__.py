"""MiniCPM-o 4.5 and Qwen3-Omni through vLLM-Omni, in this process."""

from .engine import OmniEngine
from .options import OmniOptions

__all__ = ["OmniEngine", "OmniOptions"]
