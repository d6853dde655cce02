"""The contract between a call and what answers it.

An ``Engine`` opens ``EngineSession``s. A session takes *commands* (typed client events plus the two things only the call
knows: what was heard, and that it was interrupted) and yields *engine events* (typed server events without sequence numbers,
plus signals that never reach the wire). Audio is ``bytes`` throughout. ``tests/contract`` runs unchanged against every engine.

Rules every engine keeps:

* ``submit`` never blocks on the model. It returns at once or raises ``EngineError`` for bad input; a full input queue drops
  the oldest sound and counts it.
* A response is emitted whole and in order: created, item added/created, output_item.added, content_part.added, speak, deltas,
  audio.done, transcript.done, content_part.done, output_item.done, item.done, response.done, rate_limits.updated.
* After ``Interrupt`` no delta of that response is emitted; exactly one ``response.done`` (cancelled) is, its item cut to ``heard_ms``.
* ``events()`` ends after ``close``; nothing of the session stays alive then (no task, thread, slot).
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from omnitalk.call.exchange import (
    Command,
    DismissInput,
    EngineEvent,
    EngineFailed,
    Interrupt,
    NearEnd,
    NearEndText,
    PlaybackProgress,
)
from omnitalk.protocol.session import SessionSettings


class EngineError(Exception):
    """A refusal or failure with a wire code (reference: error codes of the Realtime vocabulary).

    ``kind``: ``invalid_request_error``, ``server_error`` or ``rate_limit_error``.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        param: str | None = None,
        kind: str = "invalid_request_error",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.param, self.kind, self.retryable = code, message, param, kind, retryable


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine can do; shown by ``/config`` and used to pick a profile.

    ``turns``: who can end a turn. ``unit_ms``: length of a model unit, None when the engine has none.
    ``input_rate``/``output_rate``: Hz. ``keeps_memory_on_soft_interrupt``: what a soft interrupt costs (nothing) when True.
    ``needs_reference_voice``: a spoken session must bring a recording of its voice.
    ``chat``, ``speech``, ``transcription``: answers, reads aloud and writes down without a call (``chat.py``, ``sound.py``).
    ``sees``: takes camera frames or images. ``honest``: the sentence the page shows about what this engine is.
    """

    name: str
    model: str
    profile: str
    turns: tuple[Literal["model", "server_vad", "manual"], ...]
    input_rate: int = 16_000
    output_rate: int = 24_000
    unit_ms: int | None = None
    sees: bool = False
    text_input: bool = True
    transcribes_user: bool = True
    tools: bool = False
    voices: tuple[str, ...] = ()
    needs_reference_voice: bool = False
    keeps_memory_on_soft_interrupt: bool = True
    max_sessions: int = 1
    max_context_tokens: int | None = None
    chat: bool = False
    speech: bool = False
    transcription: bool = False
    honest: str = ""
    wire: Mapping[str, Any] = {}


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """``ready``: can take a call now. ``stage``: what is being done while not. ``problem``: a sentence, when something is wrong."""

    ready: bool
    stage: str = ""
    progress: float | None = None
    problem: str | None = None
    details: Mapping[str, Any] = {}


@runtime_checkable
class EngineSession(Protocol):
    """One live conversation with a model."""

    @property
    def settings(self) -> SessionSettings:
        """The settings in force."""
        ...

    async def submit(self, command: Command) -> None:
        """Hand a command over. Raises ``EngineError`` when it is refused."""
        ...

    def events(self) -> AsyncIterator[EngineEvent]:
        """Events in order; ends after ``close`` or after an ``EngineFailed``. One consumer."""
        ...

    async def close(self, reason: str) -> None:
        """End the session and free what it holds. Idempotent."""
        ...


@runtime_checkable
class Engine(Protocol):
    """What answers calls."""

    @property
    def capabilities(self) -> Capabilities:
        """Fixed for the life of the engine (known before ``start``)."""
        ...

    async def start(self) -> None:
        """Load and warm up. Raises ``EngineError`` with a sentence when it cannot."""
        ...

    async def stop(self) -> None:
        """End every session and free the model. Idempotent."""
        ...

    def health(self) -> Health:
        """Cheap, callable at any time."""
        ...

    async def open_session(self, session_id: str, settings: SessionSettings) -> EngineSession:
        """Open a conversation. Raises ``EngineError`` (bad settings, no capacity)."""
        ...


__all__ = [
    "Capabilities",
    "Command",
    "DismissInput",
    "Engine",
    "EngineError",
    "EngineEvent",
    "EngineFailed",
    "EngineSession",
    "Health",
    "Interrupt",
    "NearEnd",
    "NearEndText",
    "PlaybackProgress",
]
