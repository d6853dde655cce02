"""A stretch of speech while it is heard: the bets that were placed on its being over."""

import asyncio
import time
from dataclasses import dataclass, field

from .stages import Timed

__all__ = ["Bet", "Burst", "Turn"]


@dataclass(slots=True)
class Bet:
    """Recognition begun on a silence, betting that no more speech follows. ``end``: position, samples. ``ahead``: a draft answer."""

    end: int
    words: "asyncio.Task[Timed]"
    turn: "asyncio.Task[None] | None" = None
    ahead: "asyncio.Task[None] | None" = None
    turn_ms: float = 0.0
    probability: float | None = None

    def drop(self) -> None:
        """The bet was lost."""
        for task in (self.words, self.turn, self.ahead):
            if task is not None:
                task.cancel()


@dataclass(slots=True)
class Burst:
    """``start``: position of its first sample (with the padding); ``voice_start``: without; ``speech_end``: where speech was last heard.

    ``over_reply``: it began while a reply was being made or heard; ``interrupted``: the call has let it cut that reply.
    """

    item_id: str
    start: int
    voice_start: int
    speech_end: int
    over_reply: bool
    interrupted: bool = False
    bet: Bet | None = None
    decided: asyncio.Event = field(default_factory=asyncio.Event)

    def drop(self) -> None:
        """Forget it."""
        self.decided.set()
        if self.bet is not None:
            self.bet.drop()
            self.bet = None


@dataclass(slots=True)
class Turn:
    """A turn that is over. ``seconds``: its sound. ``respond``: a reply is wanted; ``manual``: the client ended it itself.

    ``ended_at``: ``time.perf_counter`` when the person stopped speaking. ``times``: ms stage times, to be told with the reply.
    """

    item_id: str
    words: "asyncio.Task[Timed]"
    seconds: float
    respond: bool
    manual: bool = False
    ended_at: float = field(default_factory=time.perf_counter)
    times: dict[str, float] = field(default_factory=dict)
