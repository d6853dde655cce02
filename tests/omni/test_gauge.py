"""The context gauge: what a unit costs, what a window keeps, when it will be full."""

import pytest
from omnitalk.engines.omni.gauge import AUDIO_TOKENS, FRAME_TOKENS, ContextGauge, Window
from omnitalk.engines.omni.wire import window


def gauge(mode: str = "off", limit: int = 8_192, **window_settings: int) -> ContextGauge:
    return ContextGauge(limit, Window(mode=mode, **window_settings), prefix_text="", voice_s=6.3)


def test_a_call_with_a_camera_fills_a_full_context_in_eight_and_a_half_minutes() -> None:
    measured = gauge(limit=40_960)
    units = 0
    while measured.used < measured.limit:
        measured.unit(1)
        units += 1
    assert units / 60 == pytest.approx(8.6, abs=0.2)


def test_seconds_left_follow_the_present_rate() -> None:
    measured = gauge()
    for _ in range(60):
        measured.unit(0)
    sound_only = measured.seconds_left
    for _ in range(30):
        measured.unit(1)
    with_camera = measured.seconds_left
    assert sound_only is not None and with_camera is not None
    assert sound_only == pytest.approx((8_192 - 71 - 60 * AUDIO_TOKENS) / AUDIO_TOKENS, rel=0.01)
    assert with_camera == pytest.approx((8_192 - measured.used) / (AUDIO_TOKENS + FRAME_TOKENS), rel=0.01)


def test_a_basic_window_drops_the_oldest_units() -> None:
    measured = gauge("basic", high=2_000, low=1_500)
    for _ in range(200):
        measured.unit(1)
        assert measured.used <= 2_000
    assert measured.dropped_units > 100
    assert measured.seconds_left is None


def test_a_context_window_keeps_so_many_units() -> None:
    measured = gauge("context", units=24)
    for _ in range(100):
        measured.unit(0)
        measured.said(40)
    assert measured.by_kind["sound"] == 24 * AUDIO_TOKENS
    assert measured.by_kind["replies"] == pytest.approx(500 + 24 * 10, abs=1)


def test_the_engines_count_sets_it_right() -> None:
    measured = gauge()
    for _ in range(10):
        measured.unit(0)
    measured.measured(measured.used + 37)
    assert measured.by_kind["other"] == 37
    measured.unit(0)
    assert measured.used == sum(measured.by_kind.values())


def test_a_hard_interruption_forgets_all_but_the_prefix() -> None:
    measured = gauge()
    prefix = measured.used
    measured.unit(1)
    measured.said(100)
    measured.forget()
    assert measured.used == prefix


@pytest.mark.parametrize("limit", [4_096, 8_192, 40_960])
def test_the_default_window_fits_its_context(limit: int) -> None:
    chosen = Window.of(window(limit))
    assert chosen.mode == "basic"
    assert chosen.low < chosen.high < limit
