"""A call on a clock that stands still, an engine that says what it is told, and a page that plays what it is given."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from omnitalk.call.attachment import Attachment
from omnitalk.call.call import Call
from omnitalk.call.clock import ManualClock
from omnitalk.call.config import CallConfig
from omnitalk.call.exchange import Command, NearEnd
from omnitalk.protocol import client, server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.session import SessionSettings, TurnDetection

E = TypeVar("E")

FRAME_MS = 32.0
WITH_VAD = SessionSettings(turn_detection=TurnDetection(), overlap_policy="barge_in_on_speech")
NATIVE = SessionSettings()


def tokens() -> Callable[[], str]:
    """Tokens that a test can foresee."""
    issued = iter(range(1, 1000))
    return lambda: f"token-{next(issued)}"


def pcm(ms: float, rate: int = 24_000) -> bytes:
    return bytes(round(ms * rate / 1000) * 2)


class Conversation:
    """One call and everything that was said in it."""

    def __init__(
        self,
        settings: SessionSettings = WITH_VAD,
        *,
        lead_ms: float | None = None,
        config: CallConfig | None = None,
        attach: bool = True,
    ) -> None:
        self.clock = ManualClock()
        self.call = Call("call_1", settings, {"supports_barge_in": True}, clock=self.clock, config=config, token=tokens())
        self.heard: list[ServerEvent] = []
        self.commands: list[Command] = []
        self.lead_ms = lead_ms
        self._mic_ms = 0.0
        self.socket = Attachment(0)
        if attach:
            self.socket = self.call.attach(lead_ms=lead_ms)
            self.read()

    # -- the client ------------------------------------------------------------------------------------------------------

    def read(self, socket: Attachment | None = None) -> list[ServerEvent]:
        """Everything that the socket can take now."""
        news: list[ServerEvent] = []
        while (event := self.call.next_event(socket or self.socket)) is not None:
            news.append(event)
        if socket is None or socket is self.socket:
            self.heard += news
        self.commands += self.call.take_commands()
        return news

    def send(self, event: client.AnyClientEvent) -> list[ServerEvent]:
        self.call.client_event(event)
        return self.read()

    def ack(self, played_ms: float, response_id: str | None = "resp_1") -> list[ServerEvent]:
        return self.send(client.PlaybackAck(played_ms=played_ms, response_id=response_id))

    def wait(self, seconds: float) -> list[ServerEvent]:
        """Time passes; the call's timers run when they are due."""
        end = self.clock.now() + seconds
        news: list[ServerEvent] = []
        for _ in range(10_000):
            due = self.call.next_deadline()
            if due is None or due > end:
                break
            self.clock.advance(max(0.0, due - self.clock.now()))
            self.call.tick()
            news += self.read()
        else:
            raise AssertionError("The call's timers do not come to rest.")
        self.clock.advance(max(0.0, end - self.clock.now()))
        self.call.tick()
        return news + self.read()

    def lose_socket(self) -> None:
        self.call.detach(self.socket)

    def come_back(self, token: str, last_seq: int | None = None) -> list[ServerEvent]:
        self.socket = self.call.resume(token, self.last_seq() if last_seq is None else last_seq, lead_ms=self.lead_ms)
        return self.read()

    def state(self) -> str:
        """What the person is shown."""
        return self.call.floor.state

    def closed(self) -> str | None:
        """Why the call is over, or None."""
        return self.call.closed

    def last_seq(self) -> int:
        return max((event.server_event_seq for event in self.heard if isinstance(event.server_event_seq, int)), default=0)

    # -- the engine ------------------------------------------------------------------------------------------------------

    def engine(self, *events: Any) -> list[ServerEvent]:
        news: list[ServerEvent] = []
        for event in events:
            self.call.engine_event(event)
            news += self.read()
        return news

    def begin_reply(self, n: int = 1) -> list[ServerEvent]:
        response, item = f"resp_{n}", {"id": f"item_{n}", "type": "message", "role": "assistant", "content": []}
        return self.engine(
            server.ResponseCreated(response={"id": response, "status": "in_progress"}, response_id=response),
            server.ConversationItemAdded(item=item),
            server.ResponseOutputItemAdded(response_id=response, item=item),
        )

    def speak(self, ms: float, n: int = 1, text: str = "la ") -> list[ServerEvent]:
        """One piece of a reply: sound, and its words."""
        ids: dict[str, Any] = {"response_id": f"resp_{n}", "item_id": f"item_{n}"}
        return self.engine(
            server.ResponseOutputAudioDelta(delta=pcm(ms), **ids), server.ResponseOutputAudioTranscriptDelta(delta=text, **ids)
        )

    def end_reply(self, n: int = 1, status: str = "completed") -> list[ServerEvent]:
        ids: dict[str, Any] = {"response_id": f"resp_{n}", "item_id": f"item_{n}"}
        return self.engine(
            server.ResponseOutputAudioDone(**ids),
            server.ResponseOutputAudioTranscriptDone(transcript="la la", **ids),
            server.ResponseDone(response={"id": f"resp_{n}", "status": status}, response_id=f"resp_{n}"),
        )

    def reply(self, ms: float, n: int = 1, piece_ms: float = 100.0) -> list[ServerEvent]:
        """A whole reply, made faster than it plays."""
        news = self.begin_reply(n)
        for _ in range(round(ms / piece_ms)):
            news += self.speak(piece_ms, n)
        return news + self.end_reply(n)

    # -- the person ------------------------------------------------------------------------------------------------------

    def mic(self, ms: float, *, probability: float = 0.0, level: float = -60.0) -> list[ServerEvent]:
        """The microphone for a while, as the VAD sees it, in real time."""
        news: list[ServerEvent] = []
        for _ in range(max(1, round(ms / FRAME_MS))):
            self._mic_ms += FRAME_MS
            news += self.wait(FRAME_MS / 1000)
            news += self.engine(NearEnd(probability=probability, level_dbfs=level, at_ms=self._mic_ms, frame_ms=FRAME_MS))
        return news

    def talk(self, ms: float) -> list[ServerEvent]:
        return self.mic(ms, probability=0.95, level=-22.0)

    def silence(self, ms: float) -> list[ServerEvent]:
        return self.mic(ms)


def names(events: Iterable[ServerEvent]) -> list[str]:
    return [event.type for event in events]


def only(kind: type[E], events: Iterable[Any]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def sound_ms(events: Iterable[ServerEvent]) -> float:
    return sum(len(event.delta) / 48 for event in only(server.ResponseOutputAudioDelta, events))
