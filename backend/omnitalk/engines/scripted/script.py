"""What a scripted engine says: replies in order, each a tone of its own so that a listener can tell which one was played."""

from collections.abc import Awaitable, Callable

import msgspec

__all__ = ["Reply", "Script", "Sleep", "frequency_of"]

Sleep = Callable[[float], Awaitable[None]]
"""Waits this many seconds; ``asyncio.sleep``, or a test's own time."""

FIRST_HZ = 300.0
STEP_HZ = 50.0
TONES = 24
"""300 to 1,450 Hz: clear of mains hum, well inside every codec's band, and further apart than any resampler blurs."""

_LONG_S = 8.0
_SHORT_S = 1.6
_WORD_S = 0.2


def frequency_of(index: int) -> float:
    """The tone of a call's reply number ``index`` (the first is 0), Hz."""
    return FIRST_HZ + STEP_HZ * (index % TONES)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """``words`` are spread evenly over ``seconds`` of tone. ``hz`` None: the tone of its number.

    ``yields_after``: a native model gives the floor back, in the middle of its reply, after this many chunks.
    """

    words: str
    seconds: float
    hz: float | None = None
    yields_after: int | None = None


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """``replies`` are used in order, then made up. ``hears``: transcripts of the person's turns, in order, then made up.

    ``pace``: how many times faster than it sounds a turn engine makes speech. ``first_sound_s``: how long it thinks.
    """

    replies: tuple[Reply, ...] = ()
    hears: tuple[str, ...] = ()
    pace: float = 4.0
    first_sound_s: float = 0.05

    def reply(self, index: int, asked: str) -> Reply:
        """Reply number ``index`` of a call, to these words."""
        if index < len(self.replies):
            return self.replies[index]
        seconds = _LONG_S if "long" in asked.lower() else _SHORT_S
        count = round(seconds / _WORD_S)
        words = f"This is reply {index + 1}".split() + [f"tone{number}" for number in range(1, count)]
        return Reply(words=" ".join(words[:count]), seconds=seconds)

    def heard(self, index: int) -> str:
        """What the person's spoken turn number ``index`` says."""
        return self.hears[index] if index < len(self.hears) else f"Spoken turn {index + 1}."
