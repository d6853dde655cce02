"""A transport that plays the sound itself (WebRTC): the ledger follows it, and what it did not play is not lost with it."""

from collections.abc import Iterable

from omnitalk.call.attachment import Attachment
from omnitalk.protocol import server
from omnitalk.protocol.base import ServerEvent

from tests.call.call_scenario import NATIVE, Conversation, names, only, pcm, sound_ms


class Player:
    """Keeps the sound that it is given, and plays as much of it as it is told."""

    def __init__(self, call: Conversation, socket: Attachment) -> None:
        self._call, self._socket = call, socket
        self._given = self._played = 0.0
        self._last: server.ResponseOutputAudioDelta | None = None
        socket.take_unplayed = self.take_unplayed
        self.given_back = 0.0

    def take(self, events: Iterable[ServerEvent]) -> None:
        for event in events:
            if isinstance(event, server.ResponseOutputAudioDelta):
                self._given += len(event.delta) / 48.0
                self._last = event

    def play(self, ms: float, response_id: str = "resp_1") -> None:
        started, self._played = self._played == 0.0, min(self._given, self._played + ms)
        self._call.call.speaker_moved(self._socket, response_id, self._played, started=started)
        self.take(self._call.read())

    def take_unplayed(self) -> list[server.ResponseOutputAudioDelta]:
        self.given_back, self._given = self._given - self._played, self._played
        if self._last is None or not self.given_back:
            return []
        return [server.ResponseOutputAudioDelta(response_id=self._last.response_id, item_id="item_1", delta=pcm(self.given_back))]


def playing(ms: float) -> tuple[Conversation, Player]:
    call = Conversation(NATIVE, lead_ms=1_000)
    player = Player(call, call.socket)
    player.take(call.reply(ms))
    return call, player


def test_sound_is_handed_out_as_it_is_played_and_the_engine_told_how_far_it_is() -> None:
    call, player = playing(6_000)
    assert sound_ms(call.heard) < 1_200
    for _ in range(20):
        player.play(100)
    track = call.call.ledger.newest
    assert track is not None and track.heard_ms(call.clock.now()) == 2_000
    assert 2_900 < sound_ms(call.heard) < 3_200
    [started] = only(server.OutputAudioBufferStarted, call.heard)
    assert started.response_id == "resp_1"


def test_what_was_not_played_is_said_by_whoever_takes_over() -> None:
    call, player = playing(6_000)
    for _ in range(5):
        player.play(100)
    given = sound_ms(call.heard)
    back = call.come_back("token-1")
    assert names(back)[:2] == ["session.resumed", "response.output_audio.delta"]
    assert player.given_back == given - 500
    first = back[1]
    assert isinstance(first, server.ResponseOutputAudioDelta) and len(first.delta) / 48 == player.given_back
    track = call.call.ledger.newest
    assert track is not None
    for played in range(600, 6_001, 100):
        call.ack(played)
    # All of it once, and what was given back twice.
    assert sound_ms(call.heard) == 6_000 + player.given_back
    assert track.sent_ms == track.generated_ms == 6_000


def test_a_second_player_counts_from_where_the_first_stopped_and_does_not_start_again() -> None:
    call, first = playing(3_000)
    for _ in range(5):
        first.play(100)
    call.lose_socket()
    call.socket = call.call.resume("token-1", call.last_seq(), lead_ms=1_000, plays=True)
    second = Player(call, call.socket)
    second.take(call.read())
    track = call.call.ledger.newest
    assert track is not None
    for _ in range(10):
        second.play(100)
    assert track.heard_ms(call.clock.now()) == 1_500
    for _ in range(20):
        second.play(100)
    assert track.heard_ms(call.clock.now()) == 3_000
    assert names(call.heard).count("output_audio_buffer.started") == 1
    assert names(call.heard).count("response.done") == 1


def test_what_was_given_back_and_then_cut_is_never_said() -> None:
    call, player = playing(6_000)
    player.play(100)
    call.socket = call.call.resume("token-1", call.last_seq(), lead_ms=1_000)
    call.call.floor.cut(call.call.floor.live(), "barge_in")
    assert sound_ms(call.read()) == 0


def test_a_player_that_takes_over_from_a_page_does_not_wait_for_sound_that_the_page_took_with_it() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    call.reply(6_000)
    call.ack(300)
    call.lose_socket()
    call.socket = call.call.resume("token-1", call.last_seq(), lead_ms=1_000, plays=True)
    player = Player(call, call.socket)
    player.take(call.read())
    for _ in range(60):
        player.play(100)
    track = call.call.ledger.newest
    assert track is not None and not call.call.ledger.sounding(track)
    assert call.state() == "listening"
    assert names(call.heard).count("response.done") == 1


def test_while_the_listener_is_out_of_reach_the_reply_has_not_ended_for_want_of_reports() -> None:
    call, player = playing(1_000)
    player.play(300)
    call.call.speaker_waits(call.socket, True)
    call.wait(8.0)
    assert call.state() == "speaking"
    call.call.speaker_waits(call.socket, False)
    for _ in range(6):
        call.wait(0.1)
        player.play(100)
        assert call.state() == "speaking"
    player.play(100)
    assert call.state() == "listening"


def test_a_listener_who_came_back_and_says_nothing_is_believed_to_have_finished() -> None:
    call, player = playing(1_000)
    player.play(300)
    call.call.speaker_waits(call.socket, True)
    call.wait(8.0)
    call.call.speaker_waits(call.socket, False)
    call.wait(1.0)
    assert call.state() == "speaking"
    call.wait(3.0)
    assert call.state() == "listening"


def test_a_player_that_was_replaced_has_no_say() -> None:
    call, player = playing(3_000)
    player.play(100)
    old = call.socket
    call.come_back("token-1")
    call.call.speaker_moved(old, "resp_1", 900.0, stopped=True)
    track = call.call.ledger.newest
    assert track is not None and track.heard_ms(call.clock.now()) == 100
    assert "output_audio_buffer.stopped" not in names(call.read())
