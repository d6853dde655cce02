"""Who sends more than the line bears waits, in the sender's own time."""

from omnitalk.call.clock import ManualClock
from omnitalk.transports.throttle import BURST_BYTES, EVENT_BYTES, RATE_BYTES_S, Throttle


async def test_a_burst_passes_and_then_the_rate_is_kept() -> None:
    clock = ManualClock()
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        clock.advance(seconds)

    throttle = Throttle(clock, sleep)
    megabyte = 1024 * 1024
    for _ in range(200):
        await throttle.pay(megabyte)
    total = 200 * (megabyte + EVENT_BYTES)
    assert abs(sum(waited) - (total - BURST_BYTES) / RATE_BYTES_S) < 0.01


async def test_a_page_never_waits() -> None:
    clock = ManualClock()
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    throttle = Throttle(clock, sleep)
    for _ in range(5_000):
        await throttle.pay(900)
        clock.advance(0.02)
    assert not any(waited)
    # It lets others have their turn all the same.
    assert len(waited) > 100
