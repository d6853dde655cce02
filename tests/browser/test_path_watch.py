"""When a peer connection counts as dead or bad, by its own statistics; time is the test's."""

from typing import Any

from .conftest import Stage

SETUP = """
  const { PathWatch, sampleOf } = await import('/shared_ui/core/path-watch.js');
  const watch = new PathWatch();
  const at = (seconds, received, more = {}) => watch.judge({
    at: seconds * 1000, received, lost: 0, bytesIn: received * 100, bytesOut: 0, emitted: 0, bufferS: 0, concealedMs: 0,
    jitterMs: 2, rttMs: 20, relayed: false, ...more });
"""


async def said(stage: Stage, script: str) -> Any:
    return await stage.run(SETUP + script)


async def test_a_path_is_good_while_packets_come_and_dead_when_none_has_come_for_long(stage: Stage) -> None:
    found = await said(
        stage, "return [at(0, 0), at(0.5, 25), at(1, 50), at(1.5, 50), at(2, 50), at(2.4, 50), at(2.5, 50), at(3, 50), at(3.5, 51)];"
    )
    assert found == ["waiting", "good", "good", "good", "good", "good", "dead", "dead", "good"]


async def test_time_that_the_page_slept_is_not_the_networks_fault(stage: Stage) -> None:
    assert await said(stage, "return [at(0, 10), at(0.5, 20), at(60, 20), at(60.5, 45)];") == ["good"] * 4


async def test_lasting_loss_is_bad_and_a_burst_is_not(stage: Stage) -> None:
    verdicts = await said(
        stage, "return Array.from({ length: 16 }, (_, i) => at(i / 2, 100 + 10 * i, { lost: i === 3 ? 5 : i > 3 ? 5 : 0 }));"
    )
    assert set(verdicts) == {"good"}
    verdicts = await said(stage, "return Array.from({ length: 16 }, (_, i) => at(i / 2, 100 + 10 * i, { lost: 5 * i }));")
    assert verdicts[0] == "good"
    assert verdicts[-1] == "bad"


async def test_what_the_browser_does_not_say_is_not_available(stage: Stage) -> None:
    figures = await said(stage, "at(0, 10); return watch.figures;")
    assert figures["jitterMs"] is None
    assert figures["lossPercent"] is None
    sample = await said(stage, "return sampleOf([{ id: 'x', type: 'inbound-rtp', kind: 'audio', packetsReceived: 7 }], 5);")
    assert sample["received"] == 7
    assert sample["rttMs"] is None
    assert sample["relayed"] is None


async def test_figures_are_of_the_last_seconds(stage: Stage) -> None:
    figures = await said(
        stage,
        """
      for (let i = 0; i < 40; i++) at(i / 2, 25 * i, { lost: i < 20 ? 100 * i : 2000, bufferS: 0.04 * 24000 * i, emitted: 24000 * i });
      return watch.figures;
    """,
    )
    assert figures["lossPercent"] == 0
    assert abs(figures["inKbps"] - 40) < 1
    assert abs(figures["bufferMs"] - 40) < 1


async def test_a_flush_shuts_a_live_stream_for_a_while_and_the_next_response_opens_it(stage: Stage) -> None:
    levels = await stage.run("""
      const { Gate } = await import('/shared_ui/worklets/gain.js');
      const gate = new Gate(10, 1000), live = new Float32Array(100).fill(0.5);
      const through = (paused = false) => {
        const out = new Float32Array(100);
        gate.pass(live, out, paused);
        return [out[0], out[99]].map((x) => Math.round(x * 100) / 100);
      };
      const found = [through()];
      gate.shut();
      for (let i = 0; i < 10; i++) found.push(through());
      found.push(through());
      gate.shut(); through(); gate.reopen();
      found.push(through(), through(true), through(true), through());
      return found;
    """)
    assert levels[0] == [0.5, 0.5]
    assert levels[1] == [0.45, 0]
    assert all(level == [0, 0] for level in levels[2:11])
    assert levels[11] == [0.05, 0.5]
    assert levels[12:] == [[0.05, 0.5], [0.45, 0], [0, 0], [0.05, 0.5]]
