"""What is sent, packet by packet, and what is told about it."""

import numpy as np
import numpy.typing as npt
import pytest
from omnitalk.media.audio import encode
from omnitalk.protocol.server import ResponseOutputAudioDelta
from omnitalk.transports.webrtc.mouth import Mouth, Progress
from omnitalk.transports.webrtc.opus import FRAME, FRAME_MS

Sound = npt.NDArray[np.float32]


def delta(ms: float, response: str = "a", *, rate: int = 24_000, level: float = 0.5, encoding: str = "pcm16") -> ResponseOutputAudioDelta:
    samples = np.full(round(ms * rate / 1000), level, np.float32)
    return ResponseOutputAudioDelta(
        response_id=response, item_id="i", delta=encode(samples, encoding), format=encoding, sample_rate_hz=rate
    )


def drain(mouth: Mouth, frames: int) -> tuple[Sound, list[Progress]]:
    """``frames`` of 20 ms."""
    sound, told = [], []
    for _ in range(frames * 20 // FRAME_MS):
        samples, news = mouth.next_frame()
        sound.append(np.zeros(FRAME, np.float32) if samples is None else samples)
        told += news
    return np.concatenate(sound), told


def loud_ms(sound: Sound) -> float:
    return float(np.count_nonzero(np.abs(sound) > 0.05)) / 24.0


def test_nothing_to_say_is_silence() -> None:
    assert Mouth().next_frame() == (None, [])


def test_a_response_is_told_when_it_starts_as_it_goes_on_and_when_it_stops() -> None:
    mouth = Mouth()
    mouth.say(delta(250))
    mouth.end("a", done=True)
    sound, told = drain(mouth, 20)
    assert loud_ms(sound) == pytest.approx(250, abs=1)
    assert told[0] == Progress("a", FRAME_MS, started=True)
    assert told[-1] == Progress("a", 250.0, stopped=True)
    played = [progress.played_ms for progress in told]
    assert played == sorted(played)
    assert sum(progress.started for progress in told) == sum(progress.stopped for progress in told) == 1


def test_it_has_not_stopped_before_the_client_was_told_that_it_is_done() -> None:
    mouth = Mouth()
    mouth.say(delta(40))
    mouth.end("a")
    _, told = drain(mouth, 10)
    assert not any(progress.stopped for progress in told)
    mouth.end("a", done=True)
    _, told = drain(mouth, 1)
    assert told == [Progress("a", 40.0, stopped=True)]


def test_two_responses_follow_each_other_without_a_gap() -> None:
    mouth = Mouth()
    mouth.say(delta(30, "a"))
    mouth.end("a", done=True)
    mouth.say(delta(30, "b"))
    mouth.end("b", done=True)
    sound, told = drain(mouth, 5)
    assert loud_ms(sound[: 60 * 24]) == pytest.approx(60, abs=1)
    assert [progress.response_id for progress in told if progress.started] == ["a", "b"]
    assert [progress.response_id for progress in told if progress.stopped] == ["a", "b"]


def test_a_cut_is_silent_within_five_ms_and_says_nothing_of_the_rest() -> None:
    mouth = Mouth()
    mouth.say(delta(1_000))
    drain(mouth, 5)
    mouth.cut("a")
    sound, told = drain(mouth, 10)
    assert 0 < loud_ms(sound) <= 5.0
    assert np.max(np.abs(np.diff(sound[:200]))) < 0.02
    assert told == [] and mouth.waiting_ms == 0


def test_a_response_waits_until_it_has_what_its_rhythm_asks_for_and_again_when_it_ran_dry() -> None:
    mouth = Mouth(start_ms=160)
    mouth.say(delta(100))
    assert loud_ms(drain(mouth, 10)[0]) == 0
    mouth.say(delta(100))
    sound, _ = drain(mouth, 12)
    assert loud_ms(sound) == pytest.approx(200, abs=1) and mouth.underruns == 1
    mouth.say(delta(100))
    assert loud_ms(drain(mouth, 10)[0]) == 0
    # No more comes: what is there is said.
    mouth.end("a")
    assert loud_ms(drain(mouth, 10)[0]) == pytest.approx(100, abs=1)


def test_a_duck_is_twenty_decibels_in_fifty_ms_and_back() -> None:
    mouth = Mouth()
    mouth.say(delta(1_000))
    mouth.fade(-20.0, 50)
    ducked, _ = drain(mouth, 5)
    assert ducked[-1] == pytest.approx(0.05, rel=0.02)
    assert np.all(np.diff(ducked) <= 1e-6) and ducked[600] == pytest.approx(0.5 * (1 - 0.9 / 2), rel=0.02)
    mouth.fade(0.0, 150)
    restored, _ = drain(mouth, 10)
    assert restored[-1] == pytest.approx(0.5, rel=0.02)
    assert np.max(np.abs(np.diff(restored))) < 0.002


def test_on_hold_nothing_is_said_and_nothing_lost() -> None:
    mouth = Mouth()
    mouth.say(delta(100))
    mouth.held = True
    assert loud_ms(drain(mouth, 10)[0]) == 0
    mouth.held = False
    assert loud_ms(drain(mouth, 10)[0]) == pytest.approx(100, abs=1)


@pytest.mark.parametrize(("rate", "encoding"), [(16_000, "pcm16"), (48_000, "pcm_f32le"), (8_000, "g711_ulaw")])
def test_any_output_format_is_said_at_its_own_length(rate: int, encoding: str) -> None:
    mouth = Mouth()
    for _ in range(10):
        mouth.say(delta(50, rate=rate, encoding=encoding))
    mouth.end("a", done=True)
    sound, told = drain(mouth, 40)
    assert told[-1].played_ms == pytest.approx(500, abs=1)
    assert loud_ms(sound) == pytest.approx(500, abs=5)


def test_what_was_not_played_can_be_taken_back_as_it_was() -> None:
    mouth = Mouth()
    mouth.say(delta(100, level=0.25))
    drain(mouth, 2)
    [back] = mouth.take_unplayed()
    assert (back.response_id, back.item_id, back.sample_rate_hz, back.format) == ("a", "i", 24_000, "pcm16")
    assert len(back.delta) == 60 * 48 and mouth.waiting_ms == 0 and mouth.take_unplayed() == []
    other = Mouth()
    other.say(back)
    sound, _ = drain(other, 3)
    assert np.allclose(sound, 0.25, atol=1e-3)


def test_what_a_listener_out_of_reach_missed_is_said_again_when_it_is_back() -> None:
    mouth = Mouth()
    mouth.say(delta(1_000, level=0.2))
    mouth.say(delta(1_000, level=0.6))
    mouth.end("a", done=True)
    drain(mouth, 60)
    mouth.miss(300)
    silence, told = drain(mouth, 100)
    assert not np.any(silence)
    assert told == []
    mouth.away = False
    sound, told = drain(mouth, 200)
    # 1,200 ms were sent, 300 of them in vain: the last 100 ms of the first second, and what followed.
    assert np.count_nonzero(np.abs(sound - 0.2) < 0.05) / 24 == pytest.approx(100, abs=2)
    assert np.count_nonzero(np.abs(sound - 0.6) < 0.05) / 24 == pytest.approx(1_000, abs=2)
    assert told[0].played_ms == 900.0 + FRAME_MS
    assert told[-1] == Progress("a", 2_000.0, stopped=True)


def test_no_more_is_said_again_than_is_kept() -> None:
    mouth = Mouth()
    mouth.say(delta(10_000))
    drain(mouth, 300)
    mouth.miss(60_000)
    mouth.away = False
    mouth.end("a", done=True)
    sound, _ = drain(mouth, 400)
    assert 4_000 + 1_500 <= loud_ms(sound) <= 4_000 + 1_540


def test_after_sound_that_came_late_pauses_are_shortened_until_it_is_made_good_and_words_are_whole() -> None:
    """A live source: a piece every 20 ms, but nobody asks for any during 200 ms."""
    mouth = Mouth()
    heard = []
    for frame in range(100):
        # Words of 200 ms, pauses of 400 ms.
        level = 0.5 if frame % 30 < 10 else 0.001
        mouth.say(delta(20, level=level))
        if not 40 <= frame < 50:
            heard.append(drain(mouth, 1)[0])
        if frame == 49:
            mouth.fell_behind(200 // FRAME_MS)
            assert mouth.waiting_ms >= 200
    assert mouth.waiting_ms <= 60
    mouth.end("a", done=True)
    sound = np.concatenate([*heard, drain(mouth, 5)[0]])
    # Four words, each as long as it was said, and a pause of at least 100 ms after each.
    assert loud_ms(sound) == pytest.approx(800, abs=2)
    edges = np.flatnonzero(np.diff((np.abs(sound) > 0.05).astype(int)))
    gaps = (edges[2::2] - edges[1:-1:2]) / 24.0
    assert np.all(gaps >= 100) and mouth.shortened_ms > 0


def test_pauses_are_left_alone_when_nothing_was_late() -> None:
    mouth = Mouth()
    for level in (0.5, 0.001, 0.5):
        mouth.say(delta(1_000, level=level))
    mouth.end("a", done=True)
    sound, told = drain(mouth, 160)
    assert told[-1].played_ms == pytest.approx(3_000) and mouth.shortened_ms == 0
    assert loud_ms(sound) == pytest.approx(2_000, abs=1)


def test_sound_that_comes_just_in_time_is_no_underrun_and_is_not_held_again() -> None:
    mouth = Mouth(start_ms=60)
    mouth.say(delta(60))
    heard = [drain(mouth, 3)[0]]
    for _ in range(10):
        mouth.say(delta(20))
        heard.append(drain(mouth, 1)[0])
    assert mouth.underruns == 0
    assert loud_ms(np.concatenate(heard)) == pytest.approx(260, abs=1)
