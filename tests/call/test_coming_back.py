"""The socket goes and comes back; another one takes over; nobody comes back."""

import pytest
from omnitalk.call.config import CallConfig, JournalConfig
from omnitalk.call.lease import Lease, new_token
from omnitalk.protocol import client, server
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import SessionSettings

from tests.call.call_scenario import NATIVE, Conversation, names, only, sound_ms


def test_the_first_events_are_created_without_a_number_then_updated_with_the_first() -> None:
    call = Conversation()
    created, updated = call.heard[0], call.heard[1]
    assert isinstance(created, server.SessionCreated) and isinstance(updated, server.SessionUpdated)
    assert created.resume_token == "token-1" and created.attachment_generation == 1
    assert not isinstance(created.server_event_seq, int) and updated.server_event_seq == 1
    assert created.session.id == created.session_id == "call_1"
    assert created.session.capabilities == {"supports_barge_in": True}


def test_a_network_cut_of_five_seconds_loses_and_repeats_nothing() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    call.reply(6_000)
    call.ack(400)
    before = sound_ms(call.heard)
    call.lose_socket()
    call.wait(5.0)
    back = call.come_back("token-1")
    assert names(back)[0] == "session.resumed"
    call.ack(before)
    for played in range(1_600, 6_001, 200):
        call.ack(played)
    assert sound_ms(call.heard) == 6_000
    numbers = [event.server_event_seq for event in call.heard if isinstance(event.server_event_seq, int)]
    assert numbers == sorted(set(numbers))
    assert names(call.heard).count("response.done") == 1


def test_sound_that_was_lost_on_the_way_is_sent_again_and_counted_once() -> None:
    call = Conversation(NATIVE)
    call.reply(2_000)
    seen = call.last_seq()
    call.lose_socket()
    half = [e.server_event_seq for e in call.heard if isinstance(e, server.ResponseOutputAudioDelta)][9]
    assert isinstance(half, int) and half < seen
    back = call.come_back("token-1", half)
    assert sound_ms(back) == 1_000
    track = call.call.ledger.newest
    assert track is not None and track.sent_ms == 2_000


def test_a_cut_while_the_socket_was_away_is_not_followed_by_old_sound() -> None:
    call = Conversation()
    call.begin_reply()
    call.speak(5_000)
    seen = [e.server_event_seq for e in call.heard if isinstance(e, server.ResponseCreated)][0]
    call.lose_socket()
    call.call.floor.cut(call.call.floor.live(), "barge_in")
    assert isinstance(seen, int)
    back = call.come_back("token-1", seen)
    assert "output_audio_buffer.cleared" in names(back) and sound_ms(back) == 0


def test_each_return_gets_a_new_token_and_the_old_one_is_worth_nothing() -> None:
    call = Conversation()
    call.lose_socket()
    back = call.come_back("token-1")
    assert only(server.SessionResumed, back)[0].resume_token == "token-2"
    call.send(client.SessionHeartbeat())
    call.lose_socket()
    for token in ("token-1", "token-9", ""):
        with pytest.raises(ProtocolError) as caught:
            call.come_back(token)
        assert caught.value.code == "invalid_resume_token"
    assert names(call.come_back("token-2"))[0] == "session.resumed"


def test_a_socket_that_died_before_its_new_token_arrived_may_use_the_one_before() -> None:
    call = Conversation()
    call.lose_socket()
    call.come_back("token-1")
    call.lose_socket()
    assert names(call.come_back("token-1"))[0] == "session.resumed"


def test_the_token_before_is_no_use_while_the_new_holder_is_there() -> None:
    call = Conversation()
    call.lose_socket()
    call.come_back("token-1")
    with pytest.raises(ProtocolError):
        call.come_back("token-1")


def test_a_second_tab_takes_over_and_the_first_is_told() -> None:
    call = Conversation()
    first = call.socket
    call.come_back("token-1")
    told = call.read(first)
    assert names(told) == ["session.replaced"] and first.ended == "session_replaced"
    assert only(server.SessionReplaced, told)[0].attachment_generation == 2
    call.call.detach(first)
    assert names(call.send(client.SessionHeartbeat())) == ["session.heartbeat_ack"]
    assert call.closed() is None


def test_a_client_that_claims_more_than_was_said_is_refused() -> None:
    call = Conversation()
    call.lose_socket()
    with pytest.raises(ProtocolError) as caught:
        call.come_back("token-1", 10_000)
    assert (caught.value.code, caught.value.param) == ("session_resume_conflict", "last_received_server_event_seq")
    assert names(call.come_back("token-1"))[0] == "session.resumed"


def test_a_call_is_attached_once_and_then_resumed() -> None:
    call = Conversation()
    with pytest.raises(ProtocolError, match="resumes"):
        call.call.attach()


def test_a_client_that_acknowledged_and_forgot_must_resync() -> None:
    call = Conversation()
    call.send(client.SessionEventAck(server_event_seq=2))
    call.lose_socket()
    assert names(call.come_back("token-1", 0))[:2] == ["session.resumed", "session.resync_required"]


def test_who_must_resync_is_told_what_is_silent_and_what_goes_on() -> None:
    call = Conversation()
    call.reply(5_000)
    call.send(client.OmnitalkInterrupt())
    call.reply(5_000, 2)
    call.talk(64)
    call.send(client.SessionEventAck(server_event_seq=call.last_seq()))
    call.lose_socket()
    back = call.come_back("token-1", 0)
    assert names(back) == [
        "session.resumed", "session.resync_required", "output_audio_buffer.cleared", "omnitalk.duck", "omnitalk.state",
    ]  # fmt: skip
    assert only(server.OutputAudioBufferCleared, back)[0].response_id == "resp_1"
    assert only(server.OmnitalkState, back)[0].state == "ducked"


def test_a_reader_so_slow_that_the_journal_overflowed_must_resync() -> None:
    call = Conversation(config=CallConfig(journal=JournalConfig(max_bytes=20_000)))
    for _ in range(200):
        call.call.engine_event(server.InputAudioBufferCleared())
    late = call.read()
    assert isinstance(late[0], server.SessionResyncRequired) and late[0].reason == "journal_overflow"
    numbers = [event.server_event_seq for event in late[1:]]
    assert numbers == sorted(numbers)  # type: ignore[type-var]
    assert names(late)[-1] == "omnitalk.state"


def test_nobody_comes_back_within_the_grace() -> None:
    call = Conversation()
    call.lose_socket()
    call.wait(29.0)
    assert call.closed() is None
    call.wait(1.1)
    assert call.closed() == "disconnect_grace_expired"
    with pytest.raises(ProtocolError) as caught:
        call.come_back("token-1")
    assert caught.value.code == "session_resume_expired"
    assert call.call.next_deadline() is None


def test_a_client_that_says_nothing_for_five_minutes_is_let_go() -> None:
    call = Conversation()
    call.wait(299.0)
    assert call.closed() is None
    after = call.wait(2.0)
    assert names(after)[-2:] == ["session.expired", "session.closed"]
    assert {event.reason for event in only(server.SessionClosed, after)} == {"idle_ttl_expired"}
    assert call.socket.ended == "session_closed"


def test_an_hour_of_silence_from_an_open_microphone_is_not_idleness() -> None:
    call = Conversation()
    for _ in range(360):
        call.send(client.InputAudioBufferAppend(audio=bytes(640)))
        call.wait(10.0)
        call.commands.clear()
    assert call.closed() is None


def test_the_idle_limit_is_the_sessions_own() -> None:
    call = Conversation(SessionSettings(idle_timeout_s=5.0))
    call.wait(5.1)
    assert call.closed() == "idle_ttl_expired"


def test_hanging_up_ends_the_call_once_and_stops_the_sound() -> None:
    call = Conversation(NATIVE, lead_ms=500)
    call.reply(5_000)
    after = call.send(client.SessionClose(reason="bye"))
    assert names(after) == ["omnitalk.state", "session.closed"] and only(server.SessionClosed, after)[0].reason == "bye"
    assert call.socket.ended == "session_closed"
    call.call.close("again")
    assert not call.send(client.SessionHeartbeat()) and not call.engine(server.InputAudioBufferCleared())


def test_tokens_are_long_and_kept_only_as_digests() -> None:
    assert len(new_token()) >= 43 and new_token() != new_token()
    call = Conversation()
    assert not any("token-1" in repr(value) for value in vars(call.call.lease).values())
    lease = Lease(call.clock, new_token, grace_s=1, idle_s=1)
    with pytest.raises(ProtocolError):
        lease.check("")
    with pytest.raises(ProtocolError):
        lease.check("\ud800")
