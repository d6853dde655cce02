"""The person makes a sound while the model speaks."""

from typing import Any

import pytest
from omnitalk.call.exchange import DismissInput, Interrupt, NearEndText, PlaybackProgress
from omnitalk.protocol import client, server
from omnitalk.protocol.session import SessionSettings, TurnDetection

from tests.call.call_scenario import NATIVE, WITH_VAD, Conversation, names, only, sound_ms

CLEARED = "output_audio_buffer.cleared"
STARTED = server.InputAudioBufferSpeechStarted(audio_start_ms=0, item_id="item_u")
STOPPED = server.InputAudioBufferSpeechStopped(audio_end_ms=300, item_id="item_u")


def speaking(ms: float = 5_000, settings: SessionSettings = WITH_VAD, lead_ms: float | None = None) -> Conversation:
    """A call in which a reply sounds: the engine has made it all, the page has heard one second."""
    call = Conversation(settings, lead_ms=lead_ms)
    call.reply(ms)
    call.wait(1.0)
    call.commands.clear()
    return call


def test_a_click_of_60_ms_ducks_and_is_forgotten() -> None:
    call = speaking()
    assert names(call.mic(60, probability=0.3, level=-20))[:1] == ["omnitalk.duck"]
    after = call.silence(400)
    assert only(server.OmnitalkUnduck, after) and CLEARED not in names(after)
    assert not only(Interrupt, call.commands) and not only(DismissInput, call.commands)


def test_it_ducks_within_one_frame_of_speech() -> None:
    call = speaking()
    duck = only(server.OmnitalkDuck, call.talk(32))
    assert [(event.gain_db, event.ramp_ms) for event in duck] == [(-20.0, 50)]
    assert call.state() == "ducked"


def test_a_cough_ducks_waits_for_words_and_restores_when_there_are_none() -> None:
    call = speaking()
    call.talk(200)
    call.engine(STARTED)
    assert not only(server.OmnitalkUnduck, call.silence(300))
    after = call.engine(NearEndText(text="(coughs)", duration_ms=200, item_id="item_u"))
    assert only(server.OmnitalkUnduck, after) and CLEARED not in names(after)
    assert only(DismissInput, call.commands)[0].reason == "noise"
    assert "input_audio_buffer.speech_started" not in names(call.heard)


def test_mm_hm_of_300_ms_restores_and_the_model_goes_on() -> None:
    call = speaking()
    call.talk(300)
    call.engine(STARTED)
    call.silence(300)
    after = call.engine(NearEndText(text="Mm-hm.", duration_ms=300, item_id="item_u"), STOPPED)
    assert "omnitalk.unduck" in names(after) and CLEARED not in names(call.heard)
    assert only(DismissInput, call.commands)[0].reason == "backchannel"
    # Neither the start nor the end of it is ever told: a stock client would silence its speaker.
    assert not [name for name in names(call.heard) if "speech_st" in name]
    assert call.state() == "speaking"


def test_sustained_speech_cuts_after_about_half_a_second() -> None:
    call = speaking()
    assert CLEARED not in names(call.talk(448))
    assert CLEARED in names(call.talk(64))


def test_the_silence_comes_before_everything_else_of_the_cut() -> None:
    call = speaking()
    call.talk(448)
    call.engine(STARTED)
    after = call.talk(64)
    assert names(after)[0] == CLEARED
    assert names(after).index("input_audio_buffer.speech_started") > 0
    interrupt = only(Interrupt, call.commands)[0]
    cleared = only(server.OutputAudioBufferCleared, after)[0]
    assert interrupt.heard_ms == pytest.approx(1_000 + 15 * 32, abs=40)
    assert (cleared.response_id, cleared.reason, cleared.heard_ms) == ("resp_1", "turn_detected", round(interrupt.heard_ms, 1))
    assert not interrupt.hard


def test_speech_with_gaps_inside_words_cuts_as_well() -> None:
    call = speaking()
    for _ in range(2):
        call.talk(160)
        call.silence(128)
    assert CLEARED in names(call.talk(200))


def test_two_short_sounds_far_apart_do_not_add_up_to_a_cut() -> None:
    call = speaking()
    for _ in range(4):
        call.talk(256)
        call.silence(320)
    assert CLEARED not in names(call.heard)


def test_one_short_word_cuts_when_its_text_arrives() -> None:
    call = speaking()
    call.talk(256)
    call.engine(STARTED)
    call.silence(320)
    after = call.engine(NearEndText(text="Stop!", duration_ms=250, item_id="item_u"))
    assert names(after)[0] == CLEARED and "input_audio_buffer.speech_started" in names(after)


def test_words_that_come_too_late_restore_the_sound_first_and_cut_all_the_same() -> None:
    call = speaking(20_000)
    call.talk(256)
    call.engine(STARTED)
    assert "omnitalk.unduck" in names(call.silence(2_000))
    assert not only(DismissInput, call.commands)
    assert CLEARED in names(call.engine(NearEndText(text="wait a moment", duration_ms=300, item_id="item_u")))


def test_speech_over_the_tail_of_a_finished_reply_still_cuts_and_truncates() -> None:
    call = speaking(2_000)
    assert call.call.ledger.newest is not None and call.call.ledger.newest.done
    after = call.talk(600)
    truncated = only(server.ConversationItemTruncated, after)
    assert [event.item_id for event in truncated] == ["item_1"]
    assert truncated[0].audio_end_ms == pytest.approx(only(Interrupt, call.commands)[0].heard_ms, abs=1)
    # The engine truncates its history too and says so: the client is told once.
    assert not call.engine(server.ConversationItemTruncated(item_id="item_1", audio_end_ms=1_480))


def test_sound_that_the_engine_still_had_in_its_hands_is_not_passed_on() -> None:
    call = Conversation()
    call.begin_reply()
    call.speak(500)
    call.talk(600)
    late = call.speak(1_000) + call.end_reply(status="cancelled")
    assert sound_ms(late) == 0
    assert names(late) == ["response.output_audio.done", "response.output_audio_transcript.done", "response.done"]


def test_a_second_end_of_the_same_response_is_not_passed_on() -> None:
    call = speaking()
    call.talk(600)
    assert not only(server.ResponseDone, call.end_reply(status="cancelled"))


def test_yes_is_an_answer_once_the_reply_is_over() -> None:
    call = Conversation()
    call.reply(1_000)
    call.wait(0.9)
    call.talk(200)
    call.engine(STARTED)
    call.silence(300)
    assert "input_audio_buffer.speech_started" in names(call.heard)
    call.commands.clear()
    after = call.engine(NearEndText(text="Yes.", duration_ms=200, item_id="item_u"))
    assert CLEARED not in names(after)
    assert only(Interrupt, call.commands) and not only(DismissInput, call.commands)


def test_speech_before_the_first_sound_is_told_at_once_and_cuts_the_thinking() -> None:
    call = Conversation()
    call.begin_reply()
    assert names(call.engine(STARTED)) == ["input_audio_buffer.speech_started", "omnitalk.state"]
    after = call.talk(600)
    assert "omnitalk.duck" not in names(after) and CLEARED in names(after)
    assert only(Interrupt, call.commands)[0].heard_ms == 0


def test_a_reply_that_begins_while_the_person_speaks_begins_ducked() -> None:
    call = Conversation()
    call.begin_reply()
    call.talk(100)
    assert "omnitalk.duck" in names(call.speak(500))


def test_a_detector_that_may_not_interrupt_only_ducks() -> None:
    call = speaking(20_000, SessionSettings(turn_detection=TurnDetection(interrupt_response=False)))
    assert names(call.talk(3_000)).count("omnitalk.duck") == 1
    assert CLEARED not in names(call.heard)
    assert "omnitalk.unduck" in names(call.silence(400))


def test_where_the_model_ends_turns_our_detector_only_ducks() -> None:
    call = speaking(20_000, NATIVE)
    call.talk(2_000)
    call.silence(400)
    assert names(call.heard).count("omnitalk.duck") == 1 and CLEARED not in names(call.heard)


def test_a_vacuum_cleaner_ducks_once() -> None:
    call = speaking(20_000)
    call.mic(5_000, probability=0.1, level=-15)
    assert names(call.heard).count("omnitalk.duck") == 1 and names(call.heard).count("omnitalk.unduck") == 1


def test_a_microphone_that_falls_silent_for_good_does_not_leave_the_speaker_ducked() -> None:
    call = speaking(20_000)
    call.talk(64)
    assert "omnitalk.unduck" in names(call.wait(1.0))


def test_speech_told_when_the_sound_ends_by_itself() -> None:
    call = Conversation()
    call.reply(1_000)
    call.wait(0.8)
    assert not call.engine(STARTED)
    assert "input_audio_buffer.speech_started" in names(call.wait(0.5))
    assert call.state() == "hearing"


def test_a_turn_that_the_detector_commits_over_a_reply_settles_it() -> None:
    call = speaking()
    after = call.engine(server.InputAudioBufferCommitted(item_id="item_u"))
    assert names(after)[0] == CLEARED


def test_a_turn_that_the_client_commits_over_a_reply_does_not() -> None:
    call = speaking()
    call.send(client.InputAudioBufferCommit())
    assert CLEARED not in names(call.engine(server.InputAudioBufferCommitted(item_id="item_u")))


# -- the model gives way ---------------------------------------------------------------------------------------------------


def listen(response_id: str | None = "resp_1", reason: str = "model_listen") -> server.ResponseListen:
    event = server.ResponseListen(response={"status": "listening", "metadata": {"reason": reason}})
    if response_id is not None:
        event.response_id = response_id
    return event


def test_the_models_own_listen_in_mid_response_is_silence_at_once() -> None:
    call = Conversation(NATIVE)
    call.begin_reply()
    call.speak(1_000)
    call.wait(0.4)
    after = call.engine(listen())
    assert names(after)[0] == CLEARED and "response.listen" in names(after)
    assert only(Interrupt, call.commands)[0].reason == "model_listen"
    assert not only(server.OverlapDecision, after)


@pytest.mark.parametrize(
    ("ending", "event"),
    [
        ("audio done", listen()),
        ("last unit", listen()),
        ("nothing", listen(None)),
        ("nothing", listen(reason="auto_response_segment_complete")),
        ("nothing", listen(reason="continuation_limit")),
        ("nothing", listen("resp_of_another_call")),
    ],
)
def test_a_listen_at_the_end_of_a_turn_lets_the_tail_play(ending: str, event: server.ResponseListen) -> None:
    call = Conversation(NATIVE)
    call.begin_reply()
    call.speak(1_000)
    ids: dict[str, Any] = {"response_id": "resp_1", "item_id": "item_1"}
    if ending == "audio done":
        call.engine(server.ResponseOutputAudioDone(**ids))
    elif ending == "last unit":
        call.engine(server.ResponseOutputAudioDelta(delta=bytes(4800), metadata={"end_of_turn": True}, **ids))
    after = call.engine(event)
    assert CLEARED not in names(after) and "response.listen" in names(after)
    assert call.state() == "speaking"


# -- the person presses something ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "reason", "hard"),
    [
        (client.OmnitalkInterrupt(), "barge_in", False),
        (client.OmnitalkInterrupt(hard=True, source="key"), "barge_in", True),
        (client.ResponseCancel(), "client_cancelled", False),
        (client.ResponseCancel(response_id="resp_1"), "client_cancelled", False),
        (client.OutputAudioBufferClear(), "output_audio_buffer_clear", False),
        (client.BargeIn(), "barge_in", False),
        (client.InputCancel(), "barge_in", False),
        (client.InputAudioBufferAppend(audio=b"xx", overlap_action="barge_in"), "barge_in", False),
        (client.InputAudioBufferAppend(audio=b"xx", force_barge_in=True), "barge_in", False),
    ],
)
def test_what_the_person_presses_is_silence_at_once(event: client.AnyClientEvent, reason: str, hard: bool) -> None:
    for settings in (WITH_VAD, NATIVE):
        call = speaking(settings=settings)
        after = call.send(event)
        assert names(after)[0] == CLEARED
        interrupt = only(Interrupt, call.commands)[0]
        assert (interrupt.reason, interrupt.hard) == (reason, hard)
        assert interrupt.heard_ms == pytest.approx(1_000, abs=1)
        assert call.state() == "listening"
        throws_input_away = isinstance(event, client.BargeIn | client.InputCancel)
        assert bool(only(client.InputAudioBufferClear, call.commands)) == throws_input_away


def test_pressing_interrupt_when_nothing_is_said_does_nothing() -> None:
    call = Conversation()
    assert not call.send(client.OmnitalkInterrupt()) and not call.send(client.OutputAudioBufferClear())
    assert not only(Interrupt, call.commands)
    call.reply(1_000)
    call.wait(2.0)
    call.commands.clear()
    assert not call.send(client.OmnitalkInterrupt(hard=False))
    call.send(client.OmnitalkInterrupt(hard=True))
    assert [command.hard for command in only(Interrupt, call.commands)] == [True]


def test_clearing_what_is_silent_already_is_answered() -> None:
    call = Conversation()
    call.reply(1_000)
    call.wait(2.0)
    assert names(call.send(client.OutputAudioBufferClear())) == [CLEARED]


@pytest.mark.parametrize("event", [client.ResponseCancel(event_id="e"), client.ResponseCancel(response_id="resp_9", event_id="e")])
def test_cancelling_what_is_not_in_progress_is_refused_by_name(event: client.ResponseCancel) -> None:
    call = Conversation()
    call.reply(1_000)
    call.wait(2.0)
    error = only(server.Error, call.send(event))[0].error
    assert (error.code, error.event_id) == ("response_not_active", "e")


def test_cancelling_another_response_leaves_this_one_alone() -> None:
    call = speaking()
    assert names(call.send(client.ResponseCancel(response_id="resp_9"))) == ["error"]
    assert call.state() == "speaking"


def test_pressing_twice_cuts_once() -> None:
    call = speaking()
    call.send(client.OmnitalkInterrupt())
    call.send(client.OmnitalkInterrupt())
    assert len(only(Interrupt, call.commands)) == 1 and names(call.heard).count(CLEARED) == 1


def test_the_engine_is_told_when_sound_begins_and_ends() -> None:
    call = Conversation()
    call.reply(1_000)
    assert [(told.sounding, told.item_id) for told in only(PlaybackProgress, call.commands)] == [(True, "item_1")]
    call.wait(2.0)
    last = only(PlaybackProgress, call.commands)[-1]
    assert not last.sounding and last.committed_ms >= 940
