"""Turns what a session hears into turns: who began, whether they finished, and whether it was meant for us.

The listener knows speech; the session (``Host``) knows replies and the conversation.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol

from omnitalk.engines.base import NearEnd, NearEndText
from omnitalk.engines.conversation import new_id
from omnitalk.media.audio import Samples
from omnitalk.media.vad import RATE
from omnitalk.protocol import server
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.session import AudioFormat, TurnDetection

from .ear import Ear
from .endpoint import Endpointer, Moment
from .hearing import Bet, Burst
from .outbox import Outbox
from .stages import Stages, Timed

__all__ = ["Host", "Listener"]

_MAX_WAIT_S = 3.0
"""How long a burst over a reply waits for the call's verdict. The call itself gives up after 1.5 s."""


class Host(Protocol):
    """What the listener needs of its session."""

    def busy(self) -> bool:
        """Whether a reply is being made or heard."""
        ...

    def turn_ended(self, burst: Burst, bet: Bet, ended_at: float) -> None:
        """A turn is complete. ``ended_at``: ``time.perf_counter`` when the person stopped speaking."""
        ...

    def read_ahead(self, text: str) -> Coroutine[Any, Any, None]:
        """Prepare the model for a turn that probably says ``text``."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Run in the background until done or the session closes."""
        ...


class Listener:
    """One session's ear, endpointer and bets."""

    def __init__(self, stages: Stages, outbox: Outbox, host: Host, key: str, detection: TurnDetection | None) -> None:
        self.held = False
        self._stages, self._outbox, self._host, self._key = stages, outbox, host, key
        self.ear = Ear(stages.vad, stages.vad_pool, key, self._on_frame)
        self._burst: Burst | None = None
        self._waiting: Burst | None = None
        self.configure(detection)

    @property
    def speaking(self) -> bool:
        """Whether the person is speaking, or has just stopped and may go on."""
        return self._burst is not None

    def configure(self, detection: TurnDetection | None) -> None:
        """Take a new turn detection over; a turn in progress is forgotten when it changes to or from none."""
        self._detection = detection
        self._endpointer = Endpointer(detection or TurnDetection())
        self._forget_bursts()

    def append(self, event: InputAudioBufferAppend, wire: AudioFormat) -> None:
        """Sound from the person. Raises ``EngineError`` when it cannot be read."""
        if not self.held:
            self.ear.append(event, wire)

    def hold(self, held: bool) -> None:
        """While held nothing is heard."""
        self.held = held
        self.clear()

    def clear(self) -> None:
        """Forget what was heard and not committed."""
        self._forget_bursts()
        self._endpointer.reset()
        self.ear.skip()

    def take(self) -> tuple[int, int]:
        """All uncommitted sound as (start, end) positions on the ring."""
        start = self.ear.ring.start if self._burst is None else self._burst.start
        return start, self.ear.ring.end

    def close(self) -> None:
        """Stop betting."""
        self._forget_bursts()

    # -- the call's verdicts ------------------------------------------------------------------------------------------

    def interrupted(self) -> None:
        """The call lets the person's speech cut the reply."""
        if self._burst is not None:
            self._burst.interrupted = True
            self._endpointer.fixed = False
        if self._waiting is not None:
            burst, self._waiting = self._waiting, None
            burst.decided.set()
            self._commit(burst)

    def dismissed(self) -> None:
        """What was heard since the last speech start was not meant for us."""
        if self._waiting is not None:
            self._waiting.drop()
            self._waiting = None
        elif self._burst is not None:
            self._outbox.emit(self._stopped(self._burst))
            self.clear()

    # -- frames -------------------------------------------------------------------------------------------------------

    def _on_frame(self, position: int, verdict: NearEnd) -> None:
        self._outbox.emit(verdict)
        if self._detection is None:
            return
        for moment in self._endpointer.step(verdict.probability):
            match moment:
                case Moment.STARTED:
                    self._start(position)
                case Moment.BET:
                    self._bet(position)
                case Moment.ASK:
                    self._ask_turn_model(position)
                case Moment.RESUMED:
                    self._drop_bet()
                case Moment.ENDED:
                    self._end(position)
        burst = self._burst
        if burst is not None:
            burst.speech_end = position - self._samples(self._endpointer.silence_ms)
        elif self._waiting is None:
            padding = self._detection.prefix_padding_ms + self._detection.min_speech_duration_ms
            self.ear.ring.forget(position - self._samples(padding) - RATE // 10)

    def _start(self, position: int) -> None:
        assert self._detection is not None
        over_reply = self._host.busy()
        voice_start = position - self._samples(self._endpointer.speech_ms)
        start = max(self.ear.ring.start, voice_start - self._samples(self._detection.prefix_padding_ms))
        item_id = new_id("item")
        if self._waiting is not None:
            # The person goes on before the call has judged the first part: it is one utterance.
            start, voice_start, item_id = self._waiting.start, self._waiting.voice_start, self._waiting.item_id
            self._waiting.drop()
            self._waiting = None
        self._burst = Burst(item_id=item_id, start=start, voice_start=voice_start, speech_end=position, over_reply=over_reply)
        self._endpointer.fixed = over_reply
        self._outbox.emit(server.InputAudioBufferSpeechStarted(audio_start_ms=start * 1000 // RATE, item_id=item_id))

    def _bet(self, position: int) -> None:
        burst = self._burst
        if burst is None:
            return
        bet = burst.bet = Bet(position, self.recognise(self.ear.ring.slice(burst.start, position)))
        if self._endpointer.fixed:
            return

        async def read_ahead() -> None:
            # Only looked at: whoever ends the turn answers for a failure.
            await asyncio.wait({bet.words})
            failed = bet.words.cancelled() or bet.words.exception() is not None
            if not failed and burst.bet is bet and (text := bet.words.result().transcript.text):
                await self._host.read_ahead(text)

        bet.ahead = self._host.spawn(read_ahead(), "read ahead")

    def _ask_turn_model(self, position: int) -> None:
        burst = self._burst
        if burst is None or burst.bet is None:
            return
        bet, sound = burst.bet, self.ear.ring.slice(burst.start, position)

        async def ask() -> None:
            probability, bet.turn_ms = await self._stages.turn_over(self._key, sound)
            if self._burst is burst and burst.bet is bet:
                bet.probability = self._endpointer.turn_probability = probability

        bet.turn = self._host.spawn(ask(), "turn model")

    def recognise(self, sound: Samples) -> "asyncio.Task[Timed]":
        """Begin to transcribe 16 kHz sound."""
        return asyncio.ensure_future(self._stages.transcribe(self._key, sound))

    def _drop_bet(self) -> None:
        if self._burst is not None and self._burst.bet is not None:
            self._burst.bet.drop()
            self._burst.bet = None

    def _end(self, position: int) -> None:
        burst, self._burst = self._burst, None
        self._endpointer.reset()
        if burst is None:
            return
        if burst.bet is None:
            burst.bet = Bet(position, self.recognise(self.ear.ring.slice(burst.start, position)))
        self._outbox.emit(self._stopped(burst))
        if burst.over_reply and not burst.interrupted and self._host.busy():
            self._waiting = burst
            self._host.spawn(self._ask_call(burst, burst.bet), "burst over a reply")
        else:
            self._commit(burst)

    async def _ask_call(self, burst: Burst, bet: Bet) -> None:
        await asyncio.wait({bet.words})
        if self._waiting is not burst:
            return
        if not self._host.busy():
            # The reply ended meanwhile: there is nothing to interrupt, so this is an ordinary turn.
            self._waiting = None
            self._commit(burst)
            return
        duration_ms = (burst.speech_end - burst.voice_start) * 1000.0 / RATE
        self._outbox.emit(NearEndText(text=bet.words.result().transcript.text, duration_ms=duration_ms, item_id=burst.item_id))
        try:
            async with asyncio.timeout(_MAX_WAIT_S):
                await burst.decided.wait()
        except TimeoutError:
            if self._waiting is burst:
                self._waiting = None
                if self._host.busy():
                    burst.drop()
                else:
                    self._commit(burst)

    def _commit(self, burst: Burst) -> None:
        bet = burst.bet
        assert bet is not None
        waited = (self.ear.seen - burst.speech_end) / RATE
        self._host.turn_ended(burst, bet, time.perf_counter() - waited)

    def _stopped(self, burst: Burst) -> server.InputAudioBufferSpeechStopped:
        return server.InputAudioBufferSpeechStopped(audio_end_ms=burst.speech_end * 1000 // RATE, item_id=burst.item_id)

    def _forget_bursts(self) -> None:
        for burst in (self._burst, self._waiting):
            if burst is not None:
                burst.drop()
        self._burst = self._waiting = None

    @staticmethod
    def _samples(ms: float) -> int:
        return int(ms * RATE / 1000)
