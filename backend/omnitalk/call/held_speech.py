"""Speech events that are held back while a response sounds, because stock clients silence their speaker on ``speech_started``."""

from collections import OrderedDict, deque

from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import (
    InputAudioBufferSpeechStarted,
    InputAudioBufferSpeechStopped,
)

__all__ = ["HeldSpeech", "SpeechEvent"]

SpeechEvent = InputAudioBufferSpeechStarted | InputAudioBufferSpeechStopped

_MOST = 16
"""More bursts than this within one response are noise; the oldest go."""


class HeldSpeech:
    """Held events in order, and the ids of dismissed bursts whose ``speech_stopped`` is still to come."""

    def __init__(self) -> None:
        self._events: deque[SpeechEvent] = deque(maxlen=_MOST)
        self._dismissed: OrderedDict[str, None] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._events)

    def hold(self, event: SpeechEvent) -> None:
        """Keeps an event back."""
        self._events.append(event)

    def swallows(self, event: SpeechEvent) -> bool:
        """Whether this ends a burst that was dismissed: its start was never told, so its end is not either."""
        if isinstance(event, InputAudioBufferSpeechStopped) and event.item_id in self._dismissed:
            del self._dismissed[event.item_id]
            return True
        return False

    def holds(self, item_id: str) -> bool:
        """Whether a burst's start is held."""
        return any(event.item_id == item_id for event in self._events)

    def release(self) -> list[ServerEvent]:
        """The events, to be told now."""
        events: list[ServerEvent] = list(self._events)
        self._events.clear()
        return events

    def dismiss(self, item_id: str | None) -> None:
        """A burst (None: every burst) was no interruption: nobody will be told of it."""
        gone = [event for event in self._events if item_id in (None, event.item_id)]
        for event in gone:
            self._events.remove(event)
        ended = {event.item_id for event in gone if isinstance(event, InputAudioBufferSpeechStopped)}
        for event in gone:
            if event.item_id not in ended:
                self._dismissed[event.item_id] = None
        while len(self._dismissed) > _MOST:
            self._dismissed.popitem(last=False)
