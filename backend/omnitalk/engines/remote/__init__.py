"""Somebody else's vLLM-Omni server as the engine: the same page and doors, over its duplex WebSocket."""

from .engine import RemoteEngine, RemoteOptions

__all__ = ["RemoteEngine", "RemoteOptions"]
