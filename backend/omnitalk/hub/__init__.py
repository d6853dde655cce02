"""The async shell around ``omnitalk.call``: the only place where a call's tasks live."""

from .hub import Hub, HubConfig
from .runner import CallRunner, Detached

__all__ = ["CallRunner", "Detached", "Hub", "HubConfig"]
