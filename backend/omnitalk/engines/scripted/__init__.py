"""An engine without a model: it speaks the vocabularies of the real ones, with tones for speech. For tests and page development."""

from .engine import Mode, ScriptedEngine
from .script import Reply, Script, frequency_of

__all__ = ["Mode", "Reply", "Script", "ScriptedEngine", "frequency_of"]
