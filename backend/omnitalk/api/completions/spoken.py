"""Remembers what spoken answers said, so that a client may name one by its id instead of sending it back."""

import time
from collections import OrderedDict
from collections.abc import Callable

from omnitalk.protocol.errors import ProtocolError

__all__ = ["LIFE_S", "SpokenAnswers"]

LIFE_S = 3600
"""How long an id is good; the answer says so in ``expires_at``."""

_MOST = 512
_MOST_CHARS = 20_000


class SpokenAnswers:
    """Transcripts by id: the newest 512, for an hour. Sound is not kept."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def keep(self, audio_id: str, transcript: str) -> None:
        """From now on this id stands for these words."""
        self._kept[audio_id] = (self._now() + LIFE_S, transcript[:_MOST_CHARS])
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def transcript(self, audio_id: str, param: str) -> str:
        """The words. Raises ``ProtocolError`` when the id is not known (any more)."""
        until, words = self._kept.get(audio_id, (0.0, ""))
        if until < self._now():
            self._kept.pop(audio_id, None)
            raise ProtocolError(
                "audio_expired", f"There is no spoken answer {audio_id!r} (any more); send its words as content.", param=param
            )
        return words
