"""How full the model's context is, counted in units.

Costs of MiniCPM-o 4.5 as vLLM-Omni lays it out: a unit of 1 s is 10 vectors of sound between two markers, and from the second unit
on the drawn ``listen`` or ``chunk_eos`` before its closing marker; a picture is 64 vectors between two markers; a stacked pair
costs four pictures, because its first image is cut into two further tiles (measured: 277 tokens a unit). What the model says adds
its own tokens, about one for every four characters. Instructions and the reference voice stand before everything.
"""

from collections import deque
from typing import NamedTuple

__all__ = ["AUDIO_TOKENS", "FRAME_TOKENS", "ContextGauge", "Window"]

AUDIO_TOKENS = 13
FRAME_TOKENS = 66
STACKED_TOKENS = 4 * FRAME_TOKENS
VOICE_TOKENS_A_SECOND = 10
_CHARS_A_TOKEN = 4.0
_RATE_UNITS = 30
"""The present rate is that of the last half minute."""


class Window(NamedTuple):
    """What happens when the context fills: ``off`` nothing (it overflows), ``basic`` drops the oldest units above ``high`` down to
    ``low`` tokens, ``context`` keeps ``units`` units and ``previous`` tokens of what the model said before."""

    mode: str = "basic"
    high: int = 8_000
    low: int = 6_000
    units: int = 24
    previous: int = 500

    @classmethod
    def of(cls, extra: dict[str, object]) -> "Window":
        """From a session's ``extra_body``; anything else than a number there keeps the default (the engine itself refuses it)."""

        def number(name: str, default: int) -> int:
            value = extra.get(name)
            return value if isinstance(value, int) and not isinstance(value, bool) else default

        return cls(
            mode=str(extra.get("sliding_window_mode", "off")),
            high=number("basic_window_high_tokens", 8_000),
            low=number("basic_window_low_tokens", 6_000),
            units=number("context_max_units", 24),
            previous=number("context_previous_max_tokens", 500),
        )


class ContextGauge:
    """``limit``: tokens of the model's context. Units go in with ``unit``; ``said`` adds to the newest."""

    def __init__(self, limit: int, window: Window, *, prefix_text: str, voice_s: float) -> None:
        self.limit, self.window = limit, window
        self._prefix = round(len(prefix_text) / _CHARS_A_TOKEN) + 8
        self._voice = round(voice_s * VOICE_TOKENS_A_SECOND)
        self._units: deque[list[float]] = deque()
        self._previous = 0.0
        self._correction = 0
        self.dropped_units = 0

    def unit(self, frames: int) -> None:
        """A unit of sound with so many pictures has gone in."""
        picture = 0 if frames == 0 else FRAME_TOKENS if frames == 1 else STACKED_TOKENS
        self._units.append([AUDIO_TOKENS, picture, 0.0])
        self._slide()

    def said(self, characters: int) -> None:
        """The model has said so many characters since."""
        if not self._units:
            self._units.append([0, 0, 0.0])
        self._units[-1][2] += characters / _CHARS_A_TOKEN
        self._slide()

    def measured(self, tokens: int) -> None:
        """The engine's own count of what is in the context now: the estimate is set right by it."""
        self._correction += tokens - self.used

    def forget(self) -> None:
        """A hard interruption: only what stands before the call is left."""
        self._units.clear()
        self._correction = 0
        self._previous = 0.0

    def _slide(self) -> None:
        window = self.window
        if window.mode == "basic" and self.used > window.high:
            while self._units and self.used > window.low:
                self._drop()
        elif window.mode == "context":
            while len(self._units) > window.units:
                spoken = self._drop()
                self._previous = min(window.previous, self._previous + spoken)

    def _drop(self) -> float:
        self.dropped_units += 1
        return self._units.popleft()[2]

    @property
    def by_kind(self) -> dict[str, int]:
        """Tokens by what they hold; ``other`` is what the engine counted and the estimate did not (negative: the reverse)."""
        sound, pictures, speech = (sum(unit[index] for unit in self._units) for index in range(3))
        return {
            "instructions": self._prefix,
            "voice": self._voice,
            "sound": round(sound),
            "pictures": round(pictures),
            "replies": round(speech + self._previous),
            "other": self._correction,
        }

    @property
    def used(self) -> int:
        """Tokens in the context now."""
        return max(0, sum(self.by_kind.values()))

    @property
    def full(self) -> float:
        """Share of the context in use, 0 to 1."""
        return self.used / self.limit

    @property
    def seconds_left(self) -> float | None:
        """Until the context overflows at the rate of the last half minute; None while the window keeps that from happening."""
        ceiling = {"basic": self.window.high, "context": self._prefix + self._voice + self.window.previous}.get(self.window.mode)
        if ceiling is not None and ceiling < self.limit:
            return None
        recent = list(self._units)[-_RATE_UNITS:]
        if not recent:
            return None
        rate = sum(map(sum, recent)) / len(recent)
        return max(0.0, (self.limit - self.used) / rate)
