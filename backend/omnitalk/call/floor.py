"""Who has the floor: applies the interruption policy to a call, cuts responses, and tells the person what the call is doing."""

from typing import TYPE_CHECKING

from omnitalk.protocol import server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import CallState

from .exchange import DismissInput, Interrupt, NearEnd, NearEndText, PlaybackProgress
from .held_speech import HeldSpeech, SpeechEvent
from .interruption import Cut, Duck, Effect, Floor, InterruptionPolicy, Restore
from .ledger import Track

if TYPE_CHECKING:
    from .call import Call

__all__ = ["FloorControl"]


class FloorControl:
    """The effects side of interruption, and the call's state."""

    def __init__(self, call: "Call") -> None:
        self._call = call
        self._policy = InterruptionPolicy(call.config.interruption, call.clock)
        self.held_speech = HeldSpeech()
        self._ducked = False
        self._sounding: Track | None = None
        self._person_speaks = False
        self._awaiting_until: float | None = None
        self.on_hold = False
        self.epoch = 0
        self.state: CallState = "connecting"

    # -- who has it -----------------------------------------------------------------------------------------------------

    def live(self) -> list[Track]:
        """Responses that are being made or heard."""
        return self._call.ledger.current()

    def sounding(self) -> Track | None:
        """The response that the person hears, the newest if there are several."""
        ledger = self._call.ledger
        return next((track for track in reversed(ledger.current()) if ledger.sounding(track)), None)

    @property
    def may_cut(self) -> bool:
        """Whether near-end speech may end a response: only where a detector of ours ends turns, and the client allows it."""
        detection = self._call.settings.turn_detection
        return detection is not None and detection.interrupt_response

    def _floor(self) -> Floor:
        return Floor(taken=bool(self.live()), sounding=self.sounding() is not None, may_cut=self.may_cut)

    # -- what happens to it ---------------------------------------------------------------------------------------------

    def near_end(self, frame: NearEnd) -> None:
        """One VAD frame of the microphone."""
        if not self.on_hold:
            self._apply(self._policy.near_end(frame, self._floor()))

    def near_text(self, said: NearEndText) -> None:
        """The words of a burst."""
        self._apply(self._policy.near_text(said, self._floor()))

    def speech(self, event: SpeechEvent) -> None:
        """The engine's VAD: told at once, or held back while a response sounds."""
        if self.held_speech.swallows(event):
            return
        if self.sounding() is not None or self.held_speech.holds(event.item_id):
            self.held_speech.hold(event)
        else:
            self._tell_speech(event)

    def committed(self, *, by_client: bool) -> None:
        """The person's turn was taken. When the VAD took it over a response that sounds, that settles who has the floor."""
        self._person_speaks = False
        if not by_client and self.may_cut and self.sounding() is not None:
            self.cut(self.live(), "turn_detected")
        detection = self._call.settings.turn_detection
        if not by_client and detection is not None and detection.create_response:
            self.awaiting()

    def awaiting(self) -> None:
        """A response is asked for: the person sees *thinking* until it comes."""
        self._awaiting_until = self._call.clock.now() + self._call.config.awaiting_s

    def not_awaiting(self) -> None:
        """It came, or will not."""
        self._awaiting_until = None

    def hold(self, held: bool) -> None:
        """On hold nothing is heard or said."""
        self.on_hold = self._call.outbox.held = held
        if held:
            self._policy.reset()
            self._unduck("held")

    def cut(self, tracks: list[Track], reason: str, *, hard: bool = False) -> None:
        """Silence now, then everything that follows from it. ``cleared`` comes before any other event of the cut."""
        if not tracks:
            return
        call = self._call
        now = call.clock.now()
        left = []
        for track in tracks:
            track.cut_at_ms = track.heard_ms(now)
            left.append(call.outbox.silence(track.response_id))
            cleared = server.OutputAudioBufferCleared(response_id=track.response_id, heard_ms=round(track.cut_at_ms, 1), reason=reason)
            call.say(cleared)
            call.command(Interrupt(response_id=track.response_id, heard_ms=track.cut_at_ms, reason=reason, hard=hard))
        self.epoch += 1
        call.count("cuts")
        self._sounding = None if self._sounding in tracks else self._sounding
        self._policy.reset()
        self._unduck("cut")
        for track, events in zip(tracks, left, strict=True):
            self._tell_rest(track, events, reason)
        self._release_speech()
        if reason == "turn_detected":
            self._tell_overlap("barge_in", reason)

    def _tell_rest(self, track: Track, events: list[ServerEvent], reason: str) -> None:
        """What a cut response still has to say: the ends of its parts, not its sound and words."""
        for event in events:
            if isinstance(event, server.ResponseDone):
                details = {"type": "cancelled", "reason": reason}
                event.response = {**event.response, "status": "cancelled", "status_details": details}
            self._call.say(event)
        if track.done and track.item_id is not None and track.generated_ms > 0:
            # The engine had finished it, so no cancelled response.done will say where it ends.
            track.truncation_told = True
            self._call.say(server.ConversationItemTruncated(item_id=track.item_id, audio_end_ms=int(track.cut_at_ms or 0.0)))

    # -- time and follow-up ---------------------------------------------------------------------------------------------

    def opened(self) -> None:
        """The first socket is there."""
        self.state = "listening"
        self._call.say(server.OmnitalkState(state="listening"))

    def restate(self) -> None:
        """For a client that missed events: what is silent, how loud the speaker is, and what the call is doing."""
        for track in self._call.ledger:
            if track.cut:
                self._call.say(server.OutputAudioBufferCleared(response_id=track.response_id, reason="resync"))
        if self._ducked:
            self._tell_duck()
        else:
            self._call.say(server.OmnitalkUnduck(reason="resync"))
        self._tell_state(again=True)

    def closing(self) -> None:
        """The call ends."""
        self.state = "closed"
        self._call.say(server.OmnitalkState(state="closed"))

    def tick(self) -> None:
        """Timers that are due."""
        self._apply(self._policy.tick(self._floor()))
        if self._awaiting_until is not None and self._call.clock.now() >= self._awaiting_until:
            self._awaiting_until = None

    def next_deadline(self) -> float | None:
        """When something of this is due."""
        times = [self._policy.next_deadline(), self._awaiting_until]
        track = self.sounding()
        if track is not None and (track.done or track.audio_ended):
            quiet_at = self._call.ledger.quiet_at(track)
            times.append(quiet_at if quiet_at != float("inf") else None)
        return min((time for time in times if time is not None), default=None)

    def settle(self) -> None:
        """Notices that sound began or ended, and tells the engine, the client and the person."""
        track = self.sounding()
        if track is not self._sounding:
            ended, self._sounding = self._sounding, track
            if ended is not None and not ended.cut:
                self.tell_progress(ended)
            if track is not None:
                self.tell_progress(track)
                self._apply(self._policy.sound_began(self._floor()))
        if track is None:
            self._release_speech()
            if not self.live():
                self._apply(self._policy.floor_freed())
        self._tell_state()

    def tell_progress(self, track: Track) -> None:
        """Tells the engine how far a response was heard."""
        heard = track.heard_ms(self._call.clock.now())
        self._call.command(
            PlaybackProgress(
                response_id=track.response_id,
                item_id=track.item_id or "",
                played_ms=heard,
                committed_ms=heard if track.acked_ms is None else track.committed_ms,
                sounding=self._call.ledger.sounding(track),
            )
        )

    # -- effects --------------------------------------------------------------------------------------------------------

    def _apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Duck():
                    self._ducked = True
                    self._call.count("ducks")
                    self._tell_duck()
                case Restore():
                    self._restore(effect)
                case Cut():
                    self._take(effect.reason)

    def _take(self, reason: str) -> None:
        """The person takes the floor, also when the response ended while its words were being judged."""
        tracks = self.live()
        newest = self._call.ledger.newest
        if tracks:
            self.cut(tracks, reason)
        elif newest is not None:
            heard = newest.heard_ms(self._call.clock.now())
            # It was heard to its end: the engine goes on to the person's turn, and nothing of the item is lost.
            newest.truncation_told = True
            self._call.command(Interrupt(response_id=newest.response_id, heard_ms=heard, reason=reason))
            self._release_speech()

    def _restore(self, effect: Restore) -> None:
        if effect.unduck:
            self._unduck("not_an_interruption")
        if effect.reason in ("floor_free", "no_verdict") or (effect.item_id is None and not self.held_speech):
            # Nothing to forget; or the words are late, and may still turn out to be words.
            return
        self.held_speech.dismiss(effect.item_id)
        self._call.command(DismissInput(reason=effect.reason))
        self._call.count("dismissed")
        self._tell_overlap("listen" if effect.reason == "backchannel" else "drop", effect.reason)

    def _tell_duck(self) -> None:
        config = self._call.config.interruption
        self._call.say(server.OmnitalkDuck(gain_db=config.duck_db, ramp_ms=config.duck_ramp_ms))

    def _unduck(self, reason: str) -> None:
        if self._ducked:
            self._ducked = False
            ramp = self._call.config.interruption.restore_ramp_ms
            self._call.say(server.OmnitalkUnduck(ramp_ms=0 if reason == "cut" else ramp, reason=reason))

    def _release_speech(self) -> None:
        for event in self.held_speech.release():
            if isinstance(event, SpeechEvent):
                self._tell_speech(event)

    def _tell_speech(self, event: SpeechEvent) -> None:
        self._person_speaks = isinstance(event, server.InputAudioBufferSpeechStarted)
        self._call.say(event)

    def _tell_overlap(self, action: str, reason: str) -> None:
        decision = server.OverlapDecision(policy=self._call.settings.overlap_policy, action=action, reason=reason)
        decision.epoch = self.epoch
        self._call.say(decision)

    def _tell_state(self, *, again: bool = False) -> None:
        state = self._derive_state()
        if again or state != self.state:
            self.state = state
            newest = self._call.ledger.newest
            named = newest.response_id if newest is not None and state in ("thinking", "speaking", "ducked") else None
            self._call.say(server.OmnitalkState(state=state, response_id=named))

    def _derive_state(self) -> CallState:
        if self.state == "connecting":
            return "connecting"
        if self.on_hold:
            return "held"
        if self._sounding is not None:
            return "ducked" if self._ducked else "speaking"
        if self._person_speaks:
            return "hearing"
        return "thinking" if self._awaiting_until is not None or self.live() else "listening"
