"""Where a soft interruption ends a response of a server that does not say so.

vLLM-Omni 0.30 as published keeps a response open when its model is told to listen in the middle of it, and sends what the model says
next under the old id (our own engine corrects that inside the process; somebody else's server does not). A unit is complete every
1,000 ms, and sound can only come of a complete one. So what arrives under the old id before the unit *after* the one that had to
listen is complete is left over from before; what arrives later is a turn of its own and gets an id of its own. A server that does
end the response is believed.
"""

from typing import Any

from .events import RemoteEvent

__all__ = ["UnitBoundary"]


class UnitBoundary:
    """One session's. ``unit_sent`` counts complete units; ``pass_on`` gives each event as the session shall see it."""

    announced = False

    def __init__(self) -> None:
        self._units = 0
        self._yielded: dict[str, int] = {}
        self._renamed: dict[str, str] = {}

    def unit_sent(self) -> None:
        """A unit is complete."""
        self._units += 1

    def yield_floor(self, response_id: str) -> None:
        """The unit that is being filled makes the model listen; this response ends there."""
        original = self._original(response_id)
        self._yielded[original] = self._units + 1
        self._renamed.pop(original, None)

    def forget(self, response_id: str) -> None:
        """This response is over."""
        self._yielded.pop(self._original(response_id), None)

    def yields(self, response_id: str) -> bool:
        """Nothing waits for an announcement that does not come."""
        return False

    def _original(self, response_id: str) -> str:
        return response_id.split("#", 1)[0]

    def pass_on(self, event: RemoteEvent) -> list[RemoteEvent]:
        """The event, renamed or preceded by the beginning of a turn, or nothing for what is left over."""
        response_id = event.response_id
        if response_id is None or event.type == "response.created":
            return [event]
        if response_id in self._renamed:
            renamed = event.under(self._renamed[response_id])
            if event.type == "response.done":
                del self._renamed[response_id]
            return [renamed]
        listened_in = self._yielded.get(response_id)
        if listened_in is None:
            return [event]
        if event.type == "response.done":
            del self._yielded[response_id]
            return [event]
        if event.type != "response.output_audio.delta" or self._units <= listened_in:
            return []
        del self._yielded[response_id]
        fresh = f"{response_id}#{listened_in}"
        self._renamed[response_id] = fresh
        begun: dict[str, Any] = {"type": "response.created", "response": {"id": fresh}, "response_id": fresh}
        return [RemoteEvent(begun), event.under(fresh)]
