"""Sound on its way into the model: any wire format in, 16 kHz pieces out, laid on the grid of the model's units.

Why a grid: the engine looks at one unit of 1,000 ms at a time and every append costs it the same, so sound goes in pieces of
100 ms whose edges are the units' edges. The piece that completes a unit is never late by it. Pictures wait for that last piece:
the model sees the newest one, and one group a unit is all that the engine takes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omnitalk.engines.base import NearEnd
from omnitalk.engines.sound_in import SoundIn, wire_format
from omnitalk.media.audio import Samples, encode, level_dbfs
from omnitalk.media.vad import FRAME, FRAME_MS, VadModel, VadStream
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.session import AudioFormat

__all__ = ["PIECE", "RATE", "UNIT", "Intake", "Piece"]

RATE = 16_000
UNIT = RATE
PIECE = RATE // 10
SPEECH_DBFS = -45.0
"""Loudness that counts as speech while no voice-activity model is there."""

_SPEECH = 0.5


class Piece(NamedTuple):
    """``sound``: PCM16 at 16 kHz. ``speech``: whether somebody speaks in it; None leaves that to the engine's own level gate.

    ``frames``: pictures that belong to the unit. ``completes``: it ends a unit. ``unit``: number of its unit, from 0.
    """

    sound: bytes
    speech: bool | None
    listen: bool
    frames: tuple[bytes, ...]
    completes: bool
    unit: int


class Intake:
    """One session's. ``vad`` None: loudness decides for the call's near-end detection, the engine's gate for the model's."""

    def __init__(self, vad: VadModel | None) -> None:
        self.units = 0
        self.frames_replaced = 0
        self._vad = VadStream(vad) if vad is not None else None
        self._sound = SoundIn(RATE)
        self._unframed: Samples = np.empty(0, np.float32)
        self._heard = 0
        self._listen_through: int | None = None
        self._begin_unit()

    def _begin_unit(self) -> None:
        self._waiting: Samples = np.empty(0, np.float32)
        self._filled = 0
        self._speech: bool | None = None
        self._pictures: tuple[bytes, ...] = ()

    def listen(self) -> None:
        """The model shall listen in the unit that is being filled."""
        self._listen_through = self.units

    def restart(self) -> None:
        """The engine forgot its uncommitted sound, or filled the unit up: the grid begins anew."""
        self._begin_unit()

    def hear(self, event: InputAudioBufferAppend, default: AudioFormat) -> tuple[list[Piece], list[NearEnd]]:
        """Pieces for the engine and verdicts for the call. Raises ``EngineError``: bad_audio, unsupported_audio_format."""
        samples = self._sound.samples(event.audio, wire_format(event, default))
        if event.video_frames:
            self.frames_replaced += bool(self._pictures)
            self._pictures = tuple(event.video_frames)
        if event.force_listen is True:
            self.listen()
        verdicts = list(self._judge(samples))
        if event.is_speech is not UNSET:
            self._speech = bool(self._speech) or event.is_speech
        elif self._vad is not None and verdicts:
            self._speech = bool(self._speech) or any(verdict.probability >= _SPEECH for verdict in verdicts)
        self._waiting = np.concatenate((self._waiting, samples))
        return list(self._pieces()), verdicts

    def _judge(self, samples: Samples) -> Iterator[NearEnd]:
        sound = np.concatenate((self._unframed, samples))
        whole = sound.size // FRAME
        self._unframed = sound[whole * FRAME :].copy()
        for index in range(whole):
            frame = sound[index * FRAME : (index + 1) * FRAME]
            level = level_dbfs(frame)
            self._heard += FRAME
            probability = self._vad(frame) if self._vad is not None else float(level > SPEECH_DBFS)
            yield NearEnd(probability=probability, level_dbfs=level, at_ms=self._heard * 1000.0 / RATE, frame_ms=FRAME_MS)

    def _pieces(self) -> Iterator[Piece]:
        while self._waiting.size >= PIECE:
            sound, self._waiting = self._waiting[:PIECE], self._waiting[PIECE:]
            self._filled += PIECE
            completes = self._filled >= UNIT
            yield Piece(
                sound=encode(sound, "pcm16"),
                speech=self._speech,
                listen=self._listen_through is not None and self.units <= self._listen_through,
                frames=self._pictures if completes else (),
                completes=completes,
                unit=self.units,
            )
            if self._vad is not None or completes:
                # A verdict is about its own piece; a client's hint holds until the next one.
                self._speech = None
            if completes:
                rest = self._waiting
                self.units += 1
                self._begin_unit()
                self._waiting = rest
                if self._listen_through is not None and self.units > self._listen_through:
                    self._listen_through = None
