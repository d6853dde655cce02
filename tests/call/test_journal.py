"""The journal keeps what a client may still need, and no more than it may."""

from omnitalk.call.clock import ManualClock
from omnitalk.call.config import JournalConfig
from omnitalk.call.journal import Journal
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.server import InputAudioBufferCleared, ResponseOutputAudioDelta, ResponseOutputAudioTranscriptDelta

from tests.call.call_scenario import pcm


def sound(ms: float = 100, n: int = 1) -> ResponseOutputAudioDelta:
    return ResponseOutputAudioDelta(delta=pcm(ms), response_id=f"resp_{n}", item_id=f"item_{n}")


def words(n: int = 1) -> ResponseOutputAudioTranscriptDelta:
    return ResponseOutputAudioTranscriptDelta(delta="la", response_id=f"resp_{n}", item_id=f"item_{n}")


def journal(**config: float) -> tuple[Journal, ManualClock]:
    clock = ManualClock()
    return Journal(JournalConfig(**config), clock), clock  # type: ignore[arg-type]


def drain(kept: Journal, cursor: int = 0) -> list[int]:
    seen: list[int] = []
    while (entry := kept.next(cursor)) is not None:
        cursor = entry.seq
        seen.append(entry.seq)
    return seen


def test_numbers_start_at_one_and_rise() -> None:
    kept, _ = journal()
    events: list[ServerEvent] = [InputAudioBufferCleared() for _ in range(3)]
    assert [kept.append(event).seq for event in events] == [1, 2, 3]
    assert [event.server_event_seq for event in events] == [1, 2, 3]


def test_an_acknowledgement_forgets_what_came_before() -> None:
    kept, _ = journal()
    for _ in range(5):
        kept.append(InputAudioBufferCleared())
    assert kept.ack(3) and not kept.ack(3) and not kept.ack(2)
    assert drain(kept) == [4, 5] and kept.missed(2) and not kept.missed(3)
    assert kept.ack(10**9) and len(kept) == 0 and kept.bytes == 0 and kept.append(InputAudioBufferCleared()).seq == 6


def test_what_was_sent_is_forgotten_after_a_minute_and_what_was_not_is_kept() -> None:
    kept, clock = journal(max_age_s=60.0)
    kept.append(InputAudioBufferCleared())
    kept.append(InputAudioBufferCleared())
    kept.next(0)
    clock.advance(61.0)
    kept.trim()
    assert drain(kept) == [2] and kept.missed(0) and not kept.missed(1)


def test_the_oldest_sound_goes_first_when_there_is_no_room() -> None:
    kept, _ = journal(max_bytes=40_000)
    kept.append(InputAudioBufferCleared())
    for _ in range(20):
        kept.append(sound(), audio_ms=100.0)
    assert kept.bytes <= 40_000
    assert drain(kept)[0] == 1 and drain(kept)[-1] == 21
    assert kept.dropped_audio_ms > 0 and kept.dropped_audio_ms == sum(ms for _, ms in kept.take_lost())
    assert not kept.take_lost() and not kept.missed(0)


def test_other_events_go_only_when_no_sound_is_left_and_are_missed() -> None:
    kept, _ = journal(max_bytes=5_000)
    for _ in range(50):
        kept.append(InputAudioBufferCleared())
    assert kept.bytes <= 5_000 and kept.dropped_events > 0
    assert kept.missed(0) and not kept.missed(kept.first_safe_cursor)
    assert drain(kept, kept.first_safe_cursor)[-1] == 50


def test_a_cut_takes_out_the_sound_and_the_unsent_words_of_one_response() -> None:
    kept, _ = journal()
    for event in (sound(), words(), sound(), words(), sound(100, 2), InputAudioBufferCleared()):
        kept.append(event, audio_ms=100.0 if isinstance(event, ResponseOutputAudioDelta) else 0.0)
    kept.next(0)
    kept.next(1)
    assert kept.drop_response_audio("resp_1") == 100.0
    assert drain(kept) == [2, 5, 6] and not kept.missed(0)


def test_what_was_lost_on_the_way_counts_as_unsent_again() -> None:
    kept, _ = journal()
    for _ in range(4):
        kept.append(sound(), audio_ms=100.0)
    for cursor in range(3):
        kept.next(cursor)
    assert [entry.seq for entry in kept.rewind(1)] == [2, 3]
    assert not kept.rewind(1)
