"""What was heard: acknowledged by the page, or estimated for clients that never say."""

import pytest
from omnitalk.call.exchange import Interrupt, NearEnd, PlaybackProgress
from omnitalk.protocol import client, server

from tests.call.call_scenario import NATIVE, Conversation, names, only, sound_ms


def test_a_page_that_reports_is_believed() -> None:
    call = Conversation(NATIVE)
    call.reply(5_000)
    call.wait(1.0)
    acknowledged = only(server.PlaybackAcknowledged, call.ack(420))[0].event
    assert (acknowledged["item_id"], acknowledged["played_ms"], acknowledged["committed_ms"]) == ("item_1", 420, 420)
    assert acknowledged["playback"] == {"generated_ms": 5_000, "sent_ms": 5_000, "played_ms": 420, "committed_ms": 420}
    call.send(client.OmnitalkInterrupt())
    assert only(Interrupt, call.commands)[0].heard_ms == 420


def test_reports_only_ever_add() -> None:
    call = Conversation(NATIVE)
    call.reply(5_000)
    for played, expected in ((400, 400), (200, 400), (400, 400), (9_999_999, 5_000), (100, 5_000)):
        assert only(server.PlaybackAcknowledged, call.ack(played))[0].event["played_ms"] == expected


def test_the_same_report_twice_is_answered_twice_and_changes_nothing() -> None:
    call = Conversation(NATIVE)
    call.reply(5_000)
    first, second = call.ack(400), call.ack(400)
    assert only(server.PlaybackAcknowledged, first)[0].event == only(server.PlaybackAcknowledged, second)[0].event


def test_what_is_committed_is_never_more_than_there_is() -> None:
    call = Conversation(NATIVE)
    call.reply(1_000)
    call.send(client.PlaybackAck(played_ms=100, committed_ms=50_000, response_id="resp_1"))
    assert only(PlaybackProgress, call.commands)[-1].committed_ms == 1_000


def test_a_client_that_never_reports_hears_at_the_speed_of_time() -> None:
    call = Conversation(NATIVE)
    call.reply(5_000)
    call.wait(1.5)
    call.send(client.ResponseCancel())
    assert only(Interrupt, call.commands)[0].heard_ms == pytest.approx(1_500, abs=1)


def test_the_estimate_waits_when_the_sound_runs_dry() -> None:
    call = Conversation(NATIVE)
    call.begin_reply()
    call.speak(500)
    call.wait(2.0)
    call.speak(1_000)
    call.wait(0.25)
    call.send(client.ResponseCancel())
    assert only(Interrupt, call.commands)[0].heard_ms == pytest.approx(750, abs=1)


def test_sound_that_no_socket_took_was_not_heard() -> None:
    call = Conversation(NATIVE)
    call.lose_socket()
    call.call.engine_event(server.ResponseCreated(response={"id": "resp_1"}, response_id="resp_1"))
    call.call.engine_event(server.ResponseOutputAudioDelta(delta=bytes(48_000), response_id="resp_1", item_id="item_1"))
    call.wait(5.0)
    track = call.call.ledger.newest
    assert track is not None and track.heard_ms(call.clock.now()) == 0


@pytest.mark.parametrize(
    ("ack", "code", "param"),
    [
        (client.PlaybackAck(played_ms=1, response_id="resp_9"), "playback_item_not_found", "response_id"),
        (client.PlaybackAck(played_ms=1, item_id="item_9"), "playback_item_not_found", "item_id"),
        (client.PlaybackAck(played_ms=1, response_id="resp_1", item_id="item_9"), "playback_item_mismatch", "item_id"),
    ],
)
def test_a_report_about_nothing_is_refused_and_the_call_goes_on(ack: client.PlaybackAck, code: str, param: str) -> None:
    call = Conversation(NATIVE)
    call.reply(1_000)
    ack.event_id = "mine"
    error = only(server.Error, call.send(ack))[0].error
    assert (error.code, error.param, error.event_id) == (code, param, "mine")
    assert names(call.ack(10))[0] == "playback.acknowledged"


def test_a_report_without_a_name_is_about_the_reply_that_sounds() -> None:
    call = Conversation(NATIVE)
    assert only(server.PlaybackAcknowledged, call.ack(0, None))[0].event["item_id"] is None
    call.reply(1_000)
    assert only(server.PlaybackAcknowledged, call.ack(10, None))[0].event["item_id"] == "item_1"
    assert only(server.PlaybackAcknowledged, call.send(client.PlaybackAck(played_ms=20, item_id="item_1")))[0].event["played_ms"] == 20


def test_a_report_that_comes_after_the_cut_is_no_error() -> None:
    call = Conversation(NATIVE)
    call.reply(5_000)
    call.ack(400)
    call.send(client.OmnitalkInterrupt())
    call.engine(server.InputAudioBufferCommitted(item_id="item_u"))
    assert "error" not in names(call.ack(480))
    told = only(PlaybackProgress, call.commands)[-1]
    assert not told.sounding


def test_the_state_goes_from_thinking_over_speaking_to_listening() -> None:
    call = Conversation(NATIVE)
    call.send(client.ResponseCreate())
    call.reply(1_000)
    call.ack(990)
    assert [event.state for event in only(server.OmnitalkState, call.heard)] == ["listening", "thinking", "speaking", "listening"]


def test_a_page_that_stops_reporting_is_not_speaking_for_ever() -> None:
    call = Conversation(NATIVE)
    call.reply(1_000)
    call.ack(500)
    call.wait(10.0)
    assert call.state() == "listening"


def test_thinking_about_a_turn_that_nobody_answers_ends() -> None:
    call = Conversation()
    call.engine(server.InputAudioBufferCommitted(item_id="item_u"))
    assert call.state() == "thinking"
    call.wait(30.0)
    assert call.state() == "listening"


def test_a_stock_client_that_truncates_has_stopped_playing() -> None:
    call = Conversation()
    call.reply(5_000)
    call.wait(1.0)
    call.send(client.ConversationItemTruncate(item_id="item_1", audio_end_ms=900))
    assert only(client.ConversationItemTruncate, call.commands)
    assert call.state() == "listening"
    assert names(call.engine(server.ConversationItemTruncated(item_id="item_1", audio_end_ms=900))) == ["conversation.item.truncated"]


# -- the lead --------------------------------------------------------------------------------------------------------------


def test_sound_is_handed_out_only_as_far_ahead_as_the_page_asked_for() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    assert sound_ms(call.reply(10_000)) == 1_000
    assert sound_ms(call.ack(300)) == 300
    assert sound_ms(call.ack(300)) == 0
    assert sound_ms(call.ack(1_000)) == 700


def test_a_page_that_does_not_report_gets_its_sound_by_the_clock() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    call.reply(10_000)
    assert sound_ms(call.wait(3.0)) == pytest.approx(3_000, abs=100)
    assert sound_ms(call.heard) <= 4_100


def test_a_call_that_waits_for_its_client_does_not_spin() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    call.reply(10_000)
    call.ack(0)
    for away in (False, True):
        if away:
            call.lose_socket()
        ticks, end = 0, call.clock.now() + 10.0
        while (due := call.call.next_deadline()) is not None and due <= end:
            call.clock.advance(max(0.0, due - call.clock.now()))
            call.call.tick()
            ticks += 1
        assert ticks <= 41


def test_a_state_that_follows_from_sound_taken_later_is_noticed() -> None:
    call = Conversation(NATIVE)
    call.call.engine_event(server.ResponseOutputAudioDelta(delta=bytes(48_000), response_id="resp_1", item_id="item_1"))
    call.call.engine_event(server.ResponseDone(response={"id": "resp_1"}, response_id="resp_1"))
    due = call.call.next_deadline()
    assert due is not None and due - call.clock.now() < 1.0
    call.read()
    call.wait(2.0)
    assert call.state() == "listening"


def test_control_events_do_not_wait_behind_sound() -> None:
    call = Conversation(lead_ms=500)
    call.reply(10_000)
    assert names(call.engine(NearEnd(probability=0.9, level_dbfs=-20, at_ms=32)))[0] == "omnitalk.duck"
    assert names(call.send(client.SessionHeartbeat())) == ["session.heartbeat_ack"]


def test_the_words_keep_their_place_beside_the_sound() -> None:
    call = Conversation(NATIVE, lead_ms=500)
    call.reply(1_000)
    call.ack(1_000)
    order = [name for name in names(call.heard) if name.startswith("response.")]
    assert order[2:22] == ["response.output_audio.delta", "response.output_audio_transcript.delta"] * 10
    assert order[22:] == ["response.output_audio.done", "response.output_audio_transcript.done", "response.done"]
    numbers = [event.server_event_seq for event in call.heard if isinstance(event.server_event_seq, int)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_cut_of_a_reply_that_waits_in_the_lane_ends_it_as_cancelled() -> None:
    call = Conversation(NATIVE, lead_ms=500)
    call.reply(10_000)
    after = call.send(client.OmnitalkInterrupt())
    assert sound_ms(after) == 0 and "response.output_audio_transcript.delta" not in names(after)
    assert only(server.ResponseDone, after)[0].response["status"] == "cancelled"
    assert only(server.ResponseDone, after)[0].response["status_details"]["reason"] == "barge_in"
    assert names(after).count("conversation.item.truncated") == 1
    assert sound_ms(call.wait(5.0)) == 0


def test_a_second_reply_waits_for_the_first_to_be_heard() -> None:
    call = Conversation(NATIVE, lead_ms=500)
    call.reply(1_000, 1)
    call.reply(1_000, 2)
    assert "resp_2" not in {event.response_id for event in only(server.ResponseOutputAudioDelta, call.heard)}
    call.ack(1_000, "resp_1")
    assert {event.response_id for event in only(server.ResponseOutputAudioDelta, call.heard)} == {"resp_1", "resp_2"}
    assert len(only(server.OutputAudioBufferCleared, call.send(client.OmnitalkInterrupt()))) == 1


def test_a_page_whose_reports_always_fall_a_little_short_is_not_starved() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    for n in range(1, 60):
        before = len(call.heard)
        call.reply(1_000, n)
        assert sound_ms(call.heard[before:]) == 1_000
        call.ack(950, f"resp_{n}")


def test_a_page_that_lost_the_end_of_a_reply_gets_the_next_one() -> None:
    call = Conversation(NATIVE, lead_ms=1_000)
    call.reply(1_000)
    call.ack(100)
    call.wait(5.0)
    before = len(call.heard)
    call.reply(1_000, 2)
    assert sound_ms(call.heard[before:]) == 1_000


def test_on_hold_nothing_is_heard_and_nothing_is_said() -> None:
    call = Conversation(lead_ms=500)
    call.reply(10_000)
    call.ack(100)
    call.send(client.OmnitalkHold(held=True))
    assert call.state() == "held" and only(client.OmnitalkHold, call.commands)
    call.commands.clear()
    assert sound_ms(call.ack(600)) == 0
    assert not call.send(client.InputAudioBufferAppend(audio=b"xx")) and not only(client.InputAudioBufferAppend, call.commands)
    assert not call.talk(600)
    assert sound_ms(call.send(client.OmnitalkHold(held=False))) == 500
    assert call.state() == "speaking"


def test_a_reply_is_not_over_while_the_page_has_no_socket_to_report_on() -> None:
    call = Conversation(NATIVE)
    call.reply(3_000)
    call.ack(1_000)
    call.lose_socket()
    call.wait(10.0)
    call.come_back("token-1")
    assert call.state() == "speaking"
    call.ack(3_000)
    assert call.state() == "listening"


def test_a_reply_is_not_over_after_a_long_hold_in_the_middle_of_it() -> None:
    call = Conversation(NATIVE)
    call.reply(3_000)
    call.ack(1_000)
    call.send(client.OmnitalkHold(held=True))
    call.wait(60.0)
    call.send(client.OmnitalkHold(held=False))
    assert call.state() == "speaking"
    call.wait(2.0)
    call.ack(2_900)
    assert call.state() == "speaking"
    call.ack(3_000)
    assert call.state() == "listening"


def test_a_page_that_fell_silent_and_reports_again_is_still_speaking() -> None:
    call = Conversation(NATIVE)
    call.reply(3_000)
    call.ack(1_000)
    call.wait(5.0)
    assert call.state() == "listening"
    call.ack(1_200)
    assert call.state() == "speaking"
    call.ack(3_000)
    assert call.state() == "listening"
