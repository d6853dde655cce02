"""The pace of what is sent: by a clock that runs for an hour in a moment."""

import random

import pytest
from omnitalk.call.clock import ManualClock
from omnitalk.transports.webrtc.mouth import Mouth, Progress
from omnitalk.transports.webrtc.opus import RTP_RATE
from omnitalk.transports.webrtc.speaker import Speaker

from .test_mouth import delta

HOUR_S = 3_600


@pytest.mark.parametrize("stalls", [False, True], ids=["late sleeps", "late sleeps and stalls of the process"])
async def test_in_an_hour_the_sound_does_not_drift_from_the_clock(stalls: bool) -> None:
    clock, dice, mouth = ManualClock(), random.Random(11), Mouth()
    told: list[Progress] = []

    async def sleep(seconds: float) -> None:
        # No timer is ever early; most are a little late.
        clock.advance(seconds + dice.expovariate(1 / 0.002))

    speaker = Speaker(mouth, told.append, clock, lambda: 0.0, sleep)
    began, said = clock.now(), 0
    furthest = most_waiting = 0.0
    try:
        while clock.now() - began < HOUR_S:
            if stalls and dice.random() < 0.0005:
                clock.advance(dice.uniform(0.03, 0.8))
            due = int((clock.now() - began) // 10)
            if due > said:
                # A second of speech every ten, as a model that keeps real time brings it.
                said = due
                mouth.say(delta(1_000, f"r{said}"))
                mouth.end(f"r{said}", done=True)
            packet = await speaker.recv()
            assert packet.pts is not None
            furthest = max(furthest, abs(packet.pts / RTP_RATE - (clock.now() - began)))
            most_waiting = max(most_waiting, mouth.waiting_ms)
    finally:
        speaker.stop()
    assert furthest < 0.12, "sound and clock are apart"
    assert most_waiting <= 1_000
    assert sum(progress.stopped for progress in told) >= said - 1
    assert sum(progress.played_ms for progress in told if progress.stopped) == pytest.approx(1_000 * said, abs=1_000)
    assert (speaker.leaps > 0) == stalls


async def test_a_peer_out_of_reach_is_told_once_when_it_goes_and_once_when_it_is_back() -> None:
    clock, mouth = ManualClock(), Mouth()
    told: list[tuple[int, bool]] = []
    began = clock.now()
    away = [(1.0, 6.0), (8.0, 8.5)]

    def quiet_s() -> float:
        now = clock.now() - began
        return next((now - first for first, last in away if first <= now < last), 0.0)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    def waits(gone: bool) -> None:
        told.append((round(clock.now() - began), gone))

    speaker = Speaker(mouth, lambda progress: None, clock, quiet_s, sleep, waits)
    mouth.say(delta(9_000))
    try:
        while clock.now() - began < 10.0:
            await speaker.recv()
    finally:
        speaker.stop()
    # A gap of half a second is bad Wi-Fi, not an absence.
    assert told == [(2, True), (6, False)]
