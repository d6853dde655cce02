"""What a client's events do, and what is refused by name."""

import pytest
from omnitalk.call.config import CallConfig
from omnitalk.call.exchange import EngineFailed
from omnitalk.protocol import client, server
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import SessionPatch

from tests.call.call_scenario import NATIVE, Conversation, names, only


@pytest.mark.parametrize(
    "event",
    [
        client.InputAudioBufferAppend(audio=b"xx"),
        client.InputAudioBufferCommit(),
        client.InputAudioBufferClear(),
        client.ResponseCreate(),
        client.ConversationItemCreate(item={"type": "message"}),
        client.ConversationItemRetrieve(item_id="i"),
        client.ConversationItemDelete(item_id="i"),
        client.ConversationItemTruncate(item_id="i", audio_end_ms=5),
        client.TurnSignal(event="user_started"),
        client.InputTextAppend(text="hi"),
        client.OmnitalkMute(muted=True),
        client.OmnitalkHold(held=True),
        client.SessionUpdate(session=SessionPatch(temperature=0.5)),
    ],
)
def test_what_concerns_the_model_goes_to_the_engine_as_it_came(event: AnyClientEvent) -> None:
    call = Conversation()
    call.send(event)
    assert call.commands == [event]


@pytest.mark.parametrize(
    ("event", "code", "param"),
    [
        (client.InputAudioBufferAppend(audio=b"xxx"), "bad_audio", "audio"),
        (client.InputAudioBufferAppend(audio=b"xxxxxx", format="pcm_f32le"), "bad_audio", "audio"),
        (client.InputAudioBufferAppend(audio=b"\x00\x00\xc0\x7f" * 4, format="pcm_f32le"), "bad_audio", "audio"),
        (client.InputAudioBufferAppend(audio=b"\x00\x00\x80\x7f" * 4_000, format="pcm_f32le"), "bad_audio", "audio"),
        (client.SessionResume(session_id="call_1", resume_token="t"), "invalid_session_resume", None),
        (client.SessionEventAck(server_event_seq=999), "invalid_event_ack", "server_event_seq"),
        (client.OmnitalkQueueLeave(), "bad_event", None),
        (client.SessionUpdate(session=SessionPatch(temperature=9.0)), "bad_event", "session.temperature"),
    ],
)
def test_each_mistake_is_named_and_the_call_lives(event: AnyClientEvent, code: str, param: str | None) -> None:
    call = Conversation()
    event.event_id = "mine"
    error = only(server.Error, call.send(event))[0].error
    assert (error.code, error.param, error.event_id) == (code, param, "mine")
    assert not call.commands
    assert names(call.send(client.SessionHeartbeat())) == ["session.heartbeat_ack"]


def test_what_could_not_even_be_decoded_is_told_as_well() -> None:
    call = Conversation()
    call.call.refuse(ProtocolError("invalid_json", "That is not JSON.", event_id=None))
    assert names(call.read()) == ["error"]


def test_changed_settings_are_shown_and_handed_on() -> None:
    call = Conversation()
    after = call.send(client.SessionUpdate(session=SessionPatch(turn_detection=None, idle_timeout_s=60.0)))
    assert only(server.SessionUpdated, after)[0].session.turn_detection is None
    assert call.call.settings.turn_detection is None
    call.wait(61.0)
    assert call.closed() == "idle_ttl_expired"


def test_settings_that_the_engine_refuses_are_taken_back() -> None:
    call = Conversation()
    update = client.SessionUpdate(session=SessionPatch(instructions="new"), event_id="mine")
    call.send(update)
    call.call.command_refused(update, "instructions_update_unsupported", "Not in mid-call.", param="session.instructions")
    after = call.read()
    assert only(server.Error, after)[0].error.event_id == "mine"
    assert only(server.SessionUpdated, after)[0].session.instructions is None and call.call.settings.instructions is None


def test_a_refused_command_is_told_with_its_id_and_ends_the_thinking() -> None:
    call = Conversation()
    create = client.ResponseCreate(event_id="mine")
    call.send(create)
    assert call.state() == "thinking"
    call.call.command_refused(create, "response_already_active", "One at a time.")
    error = only(server.Error, call.read())[0].error
    assert (error.code, error.event_id, error.type) == ("response_already_active", "mine", "invalid_request_error")
    assert call.state() == "listening"


def test_a_flood_is_told_once_a_second_and_dropped() -> None:
    call = Conversation(config=CallConfig(events_per_s=100, burst=100))
    for _ in range(1_000):
        call.call.client_event(client.InputAudioBufferAppend(audio=b"xx"))
    errors = only(server.Error, call.read())
    assert [(event.error.code, event.error.type) for event in errors] == [("rate_limit_exceeded", "rate_limit_error")]
    assert len(only(client.InputAudioBufferAppend, call.commands)) == 100
    call.wait(1.0)
    assert not only(server.Error, call.send(client.SessionHeartbeat()))


def test_a_flood_of_things_that_are_not_even_events_is_bounded_too() -> None:
    call = Conversation(config=CallConfig(events_per_s=100, burst=100))
    for _ in range(1_000):
        call.call.refuse(ProtocolError("invalid_json", "That is not JSON."))
    assert len(call.read()) == 101


def test_acknowledging_every_event_is_no_flood() -> None:
    call = Conversation(NATIVE, config=CallConfig(events_per_s=1, burst=5))
    for event in call.reply(10_000):
        assert isinstance(event.server_event_seq, int)
        call.call.client_event(client.SessionEventAck(server_event_seq=event.server_event_seq))
    assert "error" not in names(call.read()) and len(call.call.outbox.journal) == 0


def test_commands_that_nobody_takes_are_bounded_and_sound_goes_first() -> None:
    call = Conversation(config=CallConfig(events_per_s=1e9, burst=1e9))
    call.call.client_event(client.ResponseCreate())
    for n in range(10_000):
        call.call.client_event(client.InputAudioBufferAppend(audio=n.to_bytes(2, "little")))
    call.read()
    assert len(call.commands) == 4_096 and isinstance(call.commands[0], client.ResponseCreate)
    assert call.call.counters["commands_dropped"] == 10_001 - 4_096


def test_an_engine_that_fails_ends_the_call_in_words() -> None:
    call = Conversation()
    after = call.engine(EngineFailed(code="engine_error", message="The model ran out of memory."))
    assert only(server.Error, after)[0].error.type == "server_error"
    assert only(server.SessionClosed, after)[0].message == "The model ran out of memory."


def test_an_engine_cannot_say_what_only_the_call_may() -> None:
    call = Conversation()
    assert not call.engine(server.OmnitalkState(state="closed"), server.OutputAudioBufferCleared(response_id="x"))


def test_what_the_page_measured_is_kept() -> None:
    call = Conversation()
    call.send(client.OmnitalkClientStats(stats={"underruns": 2}))
    assert call.call.client_stats == {"underruns": 2}


def test_settings_may_be_announced_or_not_on_the_first_socket() -> None:
    call = Conversation(attach=False)
    socket = call.call.attach(announce_settings=False)
    assert names(call.read(socket)) == ["session.created", "omnitalk.state"]
