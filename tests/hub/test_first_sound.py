"""How long a person waits is counted from the end of the turn to the first sound, once a reply."""

from omnitalk.call.clock import ManualClock
from omnitalk.hub.first_sound import BOUNDS_S, FirstSound, WaitHistogram
from omnitalk.protocol import server


def delta() -> server.ResponseOutputAudioDelta:
    return server.ResponseOutputAudioDelta(response_id="r", item_id="i", delta=b"\x00\x00")


def test_a_spoken_turn_waits_from_its_commit_to_the_first_delta() -> None:
    clock, waits = ManualClock(), WaitHistogram()
    watch = FirstSound(clock, waits)
    watch.see(server.InputAudioBufferCommitted(item_id="u"))
    clock.advance(0.25)
    watch.see(server.ResponseCreated(response={}, response_id="r"))
    clock.advance(0.2)
    for _ in range(3):
        watch.see(delta())
        clock.advance(1.0)
    assert sum(waits.counts) == 1
    assert waits.counts[BOUNDS_S.index(0.5)] == 1
    assert abs(waits.sum_s - 0.45) < 1e-9


def test_a_reply_without_sound_counts_nothing_and_a_typed_turn_waits_from_its_response() -> None:
    clock, waits = ManualClock(), WaitHistogram()
    watch = FirstSound(clock, waits)
    watch.see(server.ResponseCreated(response={}, response_id="r"))
    watch.see(server.ResponseDone(response={}, response_id="r"))
    assert sum(waits.counts) == 0
    clock.advance(5.0)
    watch.see(server.ResponseCreated(response={}, response_id="s"))
    clock.advance(20.0)
    watch.see(delta())
    assert waits.counts[-1] == 1
