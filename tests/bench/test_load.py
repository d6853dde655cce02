"""Synthetic calls really are calls: their sound comes back, and one that fails is not passed over."""

import pytest
from omnitalk.bench.load import measure, table
from omnitalk.bench.stacks import chosen
from omnitalk.bench.synthetic import synthetic_calls
from omnitalk.cli.app import app
from typer.testing import CliRunner

from tests.websocket.live import serving


@pytest.mark.parametrize("way", ["websocket", "webrtc"])
async def test_every_synthetic_call_hears_its_own_sound_come_back(way: str) -> None:
    [found] = await measure(ways=[way], counts=[2], seconds=2.0)
    assert len(found.reports) == 2
    for report in found.reports:
        assert len(report.lateness_ms) * report.piece_ms == pytest.approx(2_000, rel=0.3)
        assert min(report.lateness_ms) == 0
    assert found.server_cores > 0 and found.rss_mb > 10
    assert "| 2, " in table([found], 2.0, True)


@pytest.mark.parametrize("way", ["websocket", "webrtc"])
async def test_calls_that_do_not_come_about_are_an_error(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    async with serving(max_calls=1) as live:
        with pytest.raises(RuntimeError, match="2 synthetic calls"):
            async with synthetic_calls(f"http://{live.host}", way, 2):
                pass
    assert "omnitalk: " in capfd.readouterr().err


def test_a_stack_or_a_number_of_calls_that_makes_no_sense_is_named() -> None:
    with pytest.raises(ValueError, match=r"no stack 'pigeon'; there are aiortc"):
        chosen(["webrtc", "pigeon"])
    result = CliRunner().invoke(app, ["bench", "load", "--calls", "1,many"])
    assert result.exit_code == 2 and "1,many" in result.output
