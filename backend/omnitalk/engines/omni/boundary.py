"""Makes vLLM-Omni 0.30 end a response when the model was told to listen in the middle of it.

A continuous session is told to give way by ``force_listen`` on the sound that is appended. The model then draws ``listen`` for
that unit and keeps its memory, but the session takes a ``listen`` inside an open response for a pause: it neither says
``response.listen`` nor ``response.done``, and what the model says next comes under the old response. The session ends a response
properly when no continuation is left to it. ``yield_floor`` therefore declares that none is left, for one response:
``response.listen`` and ``response.done`` follow, the turn counts as over (sound of it that is still being made is dropped), and
the next turn gets a response of its own. Nothing is aborted, so the Stage-0 request and its memory live on.

Tested with vllm-omni 0.30.0; the engine refuses other minor versions before this is reached.
"""

from typing import Any

__all__ = ["Boundary"]

_MOST = 1_024
"""Responses marked at once; far above the seats of any engine. The oldest mark goes first."""


class Boundary:
    """One for a process: the class that it changes is shared by every engine in it. ``Boundary.install()`` returns the one in force."""

    announced = True

    def __init__(self) -> None:
        # Filled on the event loop, read in the engine's own thread: single dict operations, which do not tear.
        self._yielding: dict[str, None] = {}

    def yield_floor(self, response_id: str) -> None:
        """The next ``listen`` that the model draws inside this response ends it."""
        while len(self._yielding) >= _MOST:
            self._yielding.pop(next(iter(self._yielding)), None)
        self._yielding[response_id] = None

    def forget(self, response_id: str) -> None:
        """This response is over."""
        self._yielding.pop(response_id, None)

    def yields(self, response_id: str) -> bool:
        """Whether it was told to."""
        return response_id in self._yielding

    @classmethod
    def install(cls) -> "Boundary":
        """Put it into the engine's session code; the second time returns the first. Raises ``RuntimeError`` when that code has changed."""
        from vllm_omni.engine.duplex.session import model_channel

        channel: Any = next(
            (kind for kind in vars(model_channel).values() if isinstance(kind, type) and "response_continuations_remaining" in vars(kind)),
            None,
        )
        if channel is None:
            raise RuntimeError("this vLLM-Omni has no response_continuations_remaining: a soft interruption cannot end a response with it")
        own = channel.response_continuations_remaining
        installed: Boundary | None = getattr(own, "omnitalk_boundary", None)
        if installed is not None:
            return installed
        boundary = cls()

        def response_continuations_remaining(self: Any, response_id: str) -> bool:
            return not boundary.yields(response_id) and bool(own(self, response_id))

        response_continuations_remaining.omnitalk_boundary = boundary  # type: ignore[attr-defined]
        channel.response_continuations_remaining = response_continuations_remaining
        return boundary
