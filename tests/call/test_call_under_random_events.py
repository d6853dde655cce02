"""Whatever happens in whatever order, some things about a call never change."""

from typing import Any

import msgspec
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from omnitalk.call.attachment import Attachment
from omnitalk.call.call import Call
from omnitalk.call.clock import ManualClock
from omnitalk.call.config import CallConfig, JournalConfig
from omnitalk.call.exchange import DismissInput, EngineEvent, Interrupt, NearEnd, NearEndText
from omnitalk.protocol import client, json_codec, server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.session import SessionPatch

from tests.call.call_scenario import WITH_VAD, pcm, tokens

RESPONSES = st.integers(1, 4)
JOURNAL_BYTES = 120_000


class CallMachine(RuleBasedStateMachine):
    """A call between a client that does anything and an engine that does almost anything."""

    @initialize(lead=st.sampled_from([None, 300.0]), native=st.booleans())
    def begin(self, lead: float | None, native: bool) -> None:
        self.clock = ManualClock()
        settings = msgspec.structs.replace(WITH_VAD, turn_detection=None) if native else WITH_VAD
        config = CallConfig(journal=JournalConfig(max_bytes=JOURNAL_BYTES))
        self.call = Call("call_1", settings, clock=self.clock, config=config, token=tokens())
        self.lead = lead
        self.tokens_given = 1
        self.numbers: list[int] = []
        self.cleared: set[str] = set()
        self.done: set[str] = set()
        self.socket: Attachment | None = self.call.attach(lead_ms=lead)
        self.heard_of: set[str] = set()

    # -- what may happen -------------------------------------------------------------------------------------------------

    @rule(n=RESPONSES)
    def engine_begins(self, n: int) -> None:
        self.engine(server.ResponseCreated(response={"id": f"resp_{n}", "status": "in_progress"}, response_id=f"resp_{n}"))
        item = {"id": f"item_{n}", "role": "assistant"}
        self.engine(server.ConversationItemAdded(item=item))
        self.engine(server.ResponseOutputItemAdded(response_id=f"resp_{n}", item=item))

    @rule(n=RESPONSES, ms=st.sampled_from([20, 100, 900]))
    def engine_speaks(self, n: int, ms: int) -> None:
        ids: dict[str, Any] = {"response_id": f"resp_{n}", "item_id": f"item_{n}"}
        self.engine(server.ResponseOutputAudioDelta(delta=pcm(ms), **ids))
        self.engine(server.ResponseOutputAudioTranscriptDelta(delta="la", **ids))

    @rule(n=RESPONSES, status=st.sampled_from(["completed", "cancelled", "failed"]))
    def engine_ends(self, n: int, status: str) -> None:
        self.engine(server.ResponseOutputAudioDone(response_id=f"resp_{n}", item_id=f"item_{n}"))
        self.engine(server.ResponseDone(response={"id": f"resp_{n}", "status": status}, response_id=f"resp_{n}"))

    @rule(n=RESPONSES, reason=st.sampled_from(["model_listen", "continuation_limit"]))
    def engine_listens(self, n: int, reason: str) -> None:
        self.engine(server.ResponseListen(response={"metadata": {"reason": reason}}, response_id=f"resp_{n}"))

    @rule(frames=st.integers(1, 20), loud=st.booleans())
    def microphone(self, frames: int, loud: bool) -> None:
        for _ in range(frames):
            self.pass_time(0.032)
            self.engine(NearEnd(probability=0.9 if loud else 0.0, level_dbfs=-20 if loud else -70, at_ms=0))

    @rule(text=st.sampled_from(["", "mm-hm", "stop please"]), item=st.sampled_from(["u1", "u2"]))
    def engine_reads_a_burst(self, text: str, item: str) -> None:
        self.call.take_commands()
        answered = self.call.closed is None and bool(self.heard_of)
        self.call.engine_event(NearEndText(text=text, duration_ms=400, item_id=item))
        told = [c for c in self.call.take_commands() if isinstance(c, Interrupt | DismissInput)]
        if answered:
            assert told, "a burst that the engine asks about is always answered"
        self.read()

    @rule(item=st.sampled_from(["u1", "u2"]), started=st.booleans())
    def engine_detects(self, item: str, started: bool) -> None:
        if started:
            self.engine(server.InputAudioBufferSpeechStarted(audio_start_ms=1, item_id=item))
        else:
            self.engine(server.InputAudioBufferSpeechStopped(audio_end_ms=1, item_id=item))

    @rule()
    def engine_commits(self) -> None:
        self.engine(server.InputAudioBufferCommitted(item_id="u1"))

    @rule(n=RESPONSES, played=st.floats(0, 5_000), named=st.booleans())
    def page_reports(self, n: int, played: float, named: bool) -> None:
        self.client(client.PlaybackAck(played_ms=played, response_id=f"resp_{n}" if named else None))

    @rule(
        event=st.sampled_from(
            [
                client.OmnitalkInterrupt(),
                client.OmnitalkInterrupt(hard=True),
                client.ResponseCancel(),
                client.OutputAudioBufferClear(),
                client.BargeIn(),
                client.InputCancel(),
                client.SessionHeartbeat(),
                client.OmnitalkHold(held=True),
                client.OmnitalkHold(held=False),
                client.InputAudioBufferAppend(audio=b"xx"),
                client.InputAudioBufferAppend(audio=b"x"),
                client.InputAudioBufferCommit(),
                client.ConversationItemTruncate(item_id="item_1", audio_end_ms=100),
                client.SessionUpdate(session=SessionPatch(temperature=5.0)),
                client.SessionUpdate(session=SessionPatch(temperature=1.0)),
            ]
        )
    )
    def client_does(self, event: AnyClientEvent) -> None:
        self.client(event)

    @rule(back=st.integers(0, 10))
    def client_acknowledges(self, back: int) -> None:
        self.client(client.SessionEventAck(server_event_seq=max(0, self.last() - back)))

    @rule(seconds=st.sampled_from([0.01, 0.2, 2.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.call.tick()
        self.read()

    @rule()
    def socket_dies(self) -> None:
        if self.socket is not None:
            self.call.detach(self.socket)
            self.socket = None

    @rule()
    def socket_returns(self) -> None:
        if self.call.closed is None:
            self.socket = self.call.resume(f"token-{self.tokens_given}", self.last(), lead_ms=self.lead)
            self.tokens_given += 1
            self.read()

    # -- what never changes ----------------------------------------------------------------------------------------------

    @invariant()
    def the_bounds_hold(self) -> None:
        if not hasattr(self, "call"):
            return
        journal = self.call.outbox.journal
        assert journal.bytes <= JOURNAL_BYTES or len(journal) == 1
        for track in self.call.ledger:
            now = self.clock.now()
            assert 0 <= track.heard_ms(now) <= track.generated_ms + 1e-6 or track.cut
            assert -1e-6 <= track.sent_ms <= track.generated_ms + 1e-6 or track.cut
            assert track.committed_ms <= track.generated_ms + 1e-6 or track.cut
        due = self.call.next_deadline()
        assert (due is None) == (self.call.closed is not None)

    def engine(self, event: EngineEvent) -> None:
        if isinstance(event, server.ResponseCreated) and self.call.closed is None:
            self.heard_of.add(event.response_id)
        if isinstance(event, server.ResponseOutputAudioDelta) and self.call.closed is None:
            self.heard_of.add(event.response_id)
        self.call.engine_event(event)
        self.read()

    def client(self, event: AnyClientEvent) -> None:
        if self.socket is not None:
            self.call.client_event(msgspec.structs.replace(event))
            self.read()

    def last(self) -> int:
        return self.numbers[-1] if self.numbers else 0

    def read(self) -> None:
        """The client reads all it can, and looks at every event."""
        if self.socket is None:
            return
        while (event := self.call.next_event(self.socket)) is not None:
            self.look_at(event)
        if self.socket.ended is not None:
            self.socket = None

    def look_at(self, event: ServerEvent) -> None:
        assert event.event_id and event.session_id == "call_1"
        json_codec.encode_server(event)
        if isinstance(event.server_event_seq, int):
            assert event.server_event_seq > self.last(), "numbers strictly rise"
            self.numbers.append(event.server_event_seq)
        if isinstance(event, server.OutputAudioBufferCleared):
            self.cleared.add(event.response_id)
        if isinstance(event, server.ResponseOutputAudioDelta):
            assert event.response_id not in self.cleared, "no sound of a response after it was cleared"
        if isinstance(event, server.ResponseDone):
            assert event.response_id not in self.done, "a response ends once"
            self.done.add(event.response_id)
        if isinstance(event, server.SessionClosed):
            assert self.call.closed is not None


CallMachine.TestCase.settings = hypothesis_settings(max_examples=80, stateful_step_count=50, deadline=None)
TestCallUnderRandomEvents = CallMachine.TestCase
