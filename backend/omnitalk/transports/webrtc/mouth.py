"""What the person will hear, and how far it is: speech in order by response, taken out one packet at a time.

No clock and no network here: whoever sends the sound asks for the next frame when one is due.
"""

from collections import deque
from dataclasses import dataclass

import msgspec
import numpy as np

from omnitalk.media.audio import Resampler, Samples, decode, encode
from omnitalk.protocol.audio_format import canonical_encoding
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.server import ResponseOutputAudioDelta

from .opus import FRAME, FRAME_MS, SPEECH_RATE
from .pending import Speech

__all__ = ["Mouth", "Progress"]

_TAIL = SPEECH_RATE // 200
_QUIET = 0.01
"""Below this level (-40 dB) nobody notices that a pause is shorter."""

_PAUSE_FRAMES = 100 // FRAME_MS
"""The first 100 ms of a pause stay."""

_MARGIN = SPEECH_RATE // 50
"""What stays here when a pause is shortened: a sound that was late before will be late again."""

_REPORT_FRAMES = 100 // FRAME_MS
"""How often progress is told while a response sounds: every 100 ms, as often as a page would."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a response has left. ``started``, ``stopped``: with its first and its last sound; never both for a cut one."""

    response_id: str
    played_ms: float
    started: bool = False
    stopped: bool = False


class Mouth:
    """``start_ms``: how much sound a response must have before its first is let out, and again after it ran dry.

    What was late would stay late to the end of the response, so pauses in it are shortened until that is made good.
    """

    def __init__(self, start_ms: float = 0.0) -> None:
        self._start = int(start_ms * SPEECH_RATE / 1000.0)
        self._speeches: deque[Speech] = deque()
        self._gain = self._target = 1.0
        self._step = 0.0
        self._tail: Samples | None = None
        self.held = False
        self.away = False
        self.underruns = self.shortened_ms = 0

    # -- what goes in ---------------------------------------------------------------------------------------------------

    def say(self, event: ResponseOutputAudioDelta) -> None:
        """More sound of a response; behind what is there."""
        speech = self._find(event.response_id) or self._append(event)
        speech.newest = event
        samples = decode(event.delta, canonical_encoding(event.format, param="format"))
        self._add(speech, self._resampler(speech, event.sample_rate_hz).process(samples))

    def end(self, response_id: str, *, done: bool = False) -> None:
        """No more sound comes of a response; ``done``: and its last event has been told."""
        speech = self._find(response_id)
        if speech is None:
            return
        if not speech.ended:
            speech.ended = True
            for resampler in speech.resamplers.values():
                self._add(speech, resampler.process(np.empty(0, np.float32), last=True))
        speech.done = speech.done or done

    def cut(self, response_id: str) -> None:
        """Nothing more is heard of a response, but for the 5 ms that keep its end from being a click."""
        speech = self._find(response_id)
        if speech is not None and speech.played and speech.pieces:
            tail = speech.pieces[0][:_TAIL]
            self._tail = tail * np.linspace(1.0, 0.0, len(tail), dtype=np.float32)
        self._speeches = deque(speech for speech in self._speeches if speech.response_id != response_id)

    def take_unplayed(self) -> list[ResponseOutputAudioDelta]:
        """Gives up what was not played, as the events that would bring it again."""
        given_up = []
        for speech in self._speeches:
            if speech.pieces:
                sound = encode(np.concatenate(speech.pieces), "pcm16")
                event = msgspec.structs.replace(speech.newest, delta=sound, format="pcm16", sample_rate_hz=SPEECH_RATE)
                event.event_id, event.server_event_seq = "", UNSET
                given_up.append(event)
        self._speeches.clear()
        return given_up

    def fade(self, gain_db: float, ramp_ms: float) -> None:
        """Moves to this loudness, evenly, within this time."""
        self._target = 10.0 ** (gain_db / 20.0)
        samples = max(1.0, ramp_ms * SPEECH_RATE / 1000.0)
        self._step = (self._target - self._gain) / samples

    def miss(self, lost_ms: float) -> None:
        """The listener is out of reach: the last ``lost_ms`` went nowhere and are said again when it is back (``away`` = False)."""
        self.away = True
        if self._speeches:
            self._speeches[0].take_back(int(lost_ms * SPEECH_RATE / 1000.0))

    def fell_behind(self, frames: int) -> None:
        """So many frames were not asked for when they were due."""
        if self._speeches and self._speeches[0].played:
            self._speeches[0].owed += frames * FRAME

    @property
    def waiting_ms(self) -> float:
        """Sound that is here and not yet sent."""
        return 1000.0 * sum(speech.waiting for speech in self._speeches) / SPEECH_RATE

    # -- what comes out -------------------------------------------------------------------------------------------------

    def next_frame(self) -> tuple[Samples | None, list[Progress]]:
        """A packet's sound, None for silence, and what is to be told with it."""
        told: list[Progress] = []
        tail, self._tail = self._tail, None
        if self.held or self.away or not (self._speeches or tail is not None):
            self._ramp(FRAME)
            return None, told
        frame = np.zeros(FRAME, np.float32)
        filled = 0
        if tail is not None:
            frame[: len(tail)] = tail
            filled = len(tail)
        while filled < FRAME and self._speeches:
            speech = self._speeches[0]
            if not filled:
                self._make_good(speech)
            taken = self._draw(speech, frame[filled:])
            filled += taken
            if taken:
                self._tell(speech, told, fresh=speech.played == taken)
            if speech.waiting:
                if not taken:
                    speech.owed += FRAME - filled if speech.played else 0
                    break
                continue
            if speech.ended and speech.done:
                self._speeches.popleft()
                if speech.played:
                    told.append(Progress(speech.response_id, _ms(speech.played), stopped=True))
                continue
            if filled < FRAME and speech.played:
                if not speech.ended and not speech.holding:
                    speech.holding = True
                    self.underruns += 1
                speech.owed += FRAME - filled
            break
        if self._speeches:
            speech = self._speeches[0]
            speech.quiet_frames = speech.quiet_frames + 1 if np.abs(frame).max() < _QUIET else 0
        gain = self._ramp(FRAME)
        return (frame * gain if filled else None), told

    def _draw(self, speech: Speech, room: Samples) -> int:
        if speech.holding:
            if not speech.ended and speech.waiting < max(1, self._start):
                return 0
            speech.holding = False
        taken = 0
        while taken < len(room) and speech.pieces:
            piece = speech.pieces.popleft()
            part = piece[: len(room) - taken]
            room[taken : taken + len(part)] = part
            speech.remember(part)
            taken += len(part)
            if len(part) < len(piece):
                speech.pieces.appendleft(piece[len(part) :])
        speech.waiting -= taken
        speech.played += taken
        return taken

    def _make_good(self, speech: Speech) -> None:
        """Leaves out some of a pause, when silence had to stand in for sound before."""
        while not speech.holding and speech.owed >= FRAME and speech.quiet_frames >= _PAUSE_FRAMES and speech.waiting - FRAME >= _MARGIN:
            next_ = np.concatenate(list(speech.head(FRAME)))
            if np.abs(next_).max() >= _QUIET:
                return
            self._draw(speech, next_)
            speech.owed -= FRAME
            self.shortened_ms += FRAME_MS

    def _tell(self, speech: Speech, told: list[Progress], *, fresh: bool) -> None:
        speech.told_frames += 1
        if fresh or speech.told_frames >= _REPORT_FRAMES or not speech.waiting:
            speech.told_frames = 0
            told.append(Progress(speech.response_id, _ms(speech.played), started=fresh))

    def _ramp(self, count: int) -> Samples:
        """The gain of the next samples."""
        if self._gain == self._target:
            return np.full(count, self._gain, np.float32)
        steps = self._gain + self._step * np.arange(1, count + 1)
        low, high = sorted((self._gain, self._target))
        gain: Samples = np.clip(steps, low, high).astype(np.float32)
        self._gain = self._target if abs(float(steps[-1]) - self._gain) >= abs(self._target - self._gain) else float(gain[-1])
        return gain

    # -- parts ----------------------------------------------------------------------------------------------------------

    def _find(self, response_id: str) -> Speech | None:
        return next((speech for speech in self._speeches if speech.response_id == response_id), None)

    def _append(self, event: ResponseOutputAudioDelta) -> Speech:
        for earlier in list(self._speeches):
            # Whoever speaks anew has finished what was said before, whether that was told or not.
            self.end(earlier.response_id, done=True)
        speech = Speech(event.response_id, event)
        self._speeches.append(speech)
        return speech

    def _resampler(self, speech: Speech, rate: int) -> Resampler:
        if rate not in speech.resamplers:
            speech.resamplers[rate] = Resampler(rate, SPEECH_RATE)
        return speech.resamplers[rate]

    def _add(self, speech: Speech, samples: Samples) -> None:
        if len(samples):
            speech.pieces.append(samples)
            speech.waiting += len(samples)


def _ms(samples: int) -> float:
    return 1000.0 * samples / SPEECH_RATE
