"""Speech and transcripts without a conversation: engines whose ``capabilities.speech`` and ``capabilities.transcription`` are true.

As with chat, media are plain by the time an engine sees them, and calls come first.
"""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from omnitalk.media.audio import Samples

__all__ = ["SpeakingEngine", "TranscribingEngine"]


@runtime_checkable
class SpeakingEngine(Protocol):
    """An engine that reads a text aloud."""

    def check_room(self) -> None:
        """Raises ``EngineError`` when work outside calls would be refused now."""
        ...

    def speak(self, text: str, *, speed: float) -> AsyncIterator[bytes]:
        """PCM16, 24 kHz, mono, as it is made. Closing the iterator stops the work. Raises ``EngineError``."""
        ...


@runtime_checkable
class TranscribingEngine(Protocol):
    """An engine that writes down what was said."""

    def check_room(self) -> None:
        """Raises ``EngineError`` when work outside calls would be refused now. Asked before the sound is decoded."""
        ...

    async def transcribe(self, sound: Samples, *, language: str | None) -> str:
        """The words in 16 kHz sound. ``language``: ISO 639-1. Raises ``EngineError``."""
        ...
