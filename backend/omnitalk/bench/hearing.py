"""What ``ear.js`` recorded, on the clock of the wall.

A block reaches the page's main thread late by at least its transport and at most by a busy thread, so the least late block nearby says
when a frame was rendered. Nearby: a context that missed its deadlines goes on where it was, and its frames part from the clock for good.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Recording", "loudest"]

_NEARBY_MS = 1_000.0


class Recording:
    """One audio context's record of one side: ``name`` is ``pcm`` (the loudspeaker's) or ``microphone``."""

    def __init__(self, record: Mapping[str, Any], name: str = "pcm") -> None:
        self.rate = int(record["rate"])
        self.samples = np.asarray(np.frombuffer(base64.b64decode(record[name]), "<i2"), dtype=np.float32) / np.float32(32768)
        marks = np.array(record["wallMs"], dtype=np.float64).reshape(-1, 2)
        self._arrived = marks[:, 1]
        self._frame_ms = 1000.0 * (marks[:, 0] - record["firstFrame"]) / self.rate
        self._offsets = self._arrived - self._frame_ms

    def wall_ms(self, places_ms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Epoch ms at which these places (ms from the first sample) were rendered."""
        return np.array([place + self._offset(np.abs(self._frame_ms - place)) for place in places_ms])

    def index_at(self, wall_ms: float) -> int:
        """The sample that was rendered at this moment (epoch ms); it may lie before the first or after the last."""
        return int((wall_ms - self._offset(np.abs(self._arrived - wall_ms))) * self.rate / 1000.0)

    def _offset(self, away_ms: npt.NDArray[np.float64]) -> float:
        nearby = self._offsets[away_ms <= max(_NEARBY_MS, float(away_ms.min()))]
        return float(nearby.min())


def loudest(records: Sequence[Mapping[str, Any]], name: str = "pcm") -> Recording:
    """Of the page's contexts the one that carries this side."""
    return max((Recording(record, name) for record in records), key=lambda each: float(np.abs(each.samples).max(initial=0.0)))
