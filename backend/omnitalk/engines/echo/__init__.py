"""An engine that says back what it hears, at once: for measuring the way there and back, and for nothing else."""

from .engine import EchoEngine
from .session import Arrival, EchoSession

__all__ = ["Arrival", "EchoEngine", "EchoSession"]
