"""Who spoke when, how long answers took, and figures that say so when they are not there; time is the test's."""

from typing import Any

from .conftest import Stage

TIMELINE = "const { Timeline } = await import('/shared_ui/core/timeline.js'); const line = new Timeline(60_000);\n"
HEAR = "const hear = (from, to, rms) => { for (let at = from; at < to; at += 40) line.hear(at, rms); };\n"


async def drawn(stage: Stage, script: str) -> Any:
    return await stage.run(TIMELINE + HEAR + script)


async def test_a_pause_within_a_sentence_does_not_end_it_and_an_answer_is_timed_from_its_last_sound(stage: Stage) -> None:
    found = await drawn(
        stage,
        """
      hear(0, 1000, 0.1); hear(1000, 1200, 0.001); hear(1200, 2000, 0.1); hear(2000, 3000, 0.001);
      line.begin(2760, 'a'); line.finish(4000, 'a');
      return [line.you, line.model, line.turns, line.waits];
    """,
    )
    you, model, turns, waits = found
    assert you == [{"from": 0, "to": 1960}]
    assert model == [{"from": 2760, "to": 4000, "response": "a"}]
    assert turns == [{"endedMs": you[0]["to"], "ms": 2760 - you[0]["to"]}]
    assert waits["last"] == waits["median"] == 2760 - you[0]["to"]


async def test_a_second_response_to_the_same_words_is_no_second_answer(stage: Stage) -> None:
    turns = await drawn(
        stage,
        "hear(0, 1000, 0.1); hear(1000, 1500, 0); line.begin(1500, 'a'); line.finish(2000, 'a'); line.begin(2100, 'b'); return line.turns;",
    )
    assert len(turns) == 1


async def test_who_is_talked_over_was_not_answered(stage: Stage) -> None:
    found = await drawn(stage, "hear(0, 1000, 0.1); line.begin(1000, 'a'); line.finish(1200, 'a', true); return [line.turns, line.marks];")
    assert found == [[], [{"at": 1200, "kind": "cut"}]]


async def test_nothing_is_kept_for_ever(stage: Stage) -> None:
    sizes = await drawn(
        stage,
        """
      for (let i = 0; i < 500; i++) { hear(i * 2000, i * 2000 + 500, 0.1); hear(i * 2000 + 500, i * 2000 + 1000, 0);
        line.begin(i * 2000 + 1000, `r${i}`); line.mark(i * 2000 + 1100, 'duck'); line.finish(i * 2000 + 1500, `r${i}`); }
      return [line.you.length, line.model.length, line.marks.length, line.turns.length];
    """,
    )
    assert all(20 <= size <= 40 for size in sizes), sizes


async def test_each_path_has_its_own_figures_and_says_which_it_lacks(stage: Stage) -> None:
    socket, peer = await stage.run("""
      const { Rates, figuresOf } = await import('/shared_ui/core/figures.js');
      const rates = new Rates(); rates.read(0, 0, 0);
      const waits = { last: null, median: null };
      const stats = { startBufferMs: 40, underruns: 2, lateUnits: 3, rttMs: 12, outputLatencyMs: 0, pathChanges: 1 };
      const path = { rttMs: 9, jitterMs: 1, lossPercent: 0, inKbps: 30, outKbps: 40, concealedMs: 0, bufferMs: 25 };
      const of = (kind, path) =>
        figuresOf({ transport: { kind, why: 'best', state: 'open' }, stats, path, rates: rates.read(1000, 5000, 32000), waits });
      return [of('websocket', null), of('webrtc', path)];
    """)
    assert (socket["rttMs"], socket["startBufferMs"], socket["underruns"], socket["lateUnits"]) == (12, 40, 2, 3)
    assert (socket["inKbps"], socket["outKbps"]) == (40, 256)
    assert [name for name in socket if socket[name] is None] == [
        "jitterMs", "lossPercent", "concealedMs", "outputLatencyMs", "lastAnswerMs", "medianAnswerMs",
    ]  # fmt: skip
    assert (peer["rttMs"], peer["jitterMs"], peer["lossPercent"], peer["startBufferMs"], peer["concealedMs"]) == (9, 1, 0, 25, 0)
    assert [name for name in peer if peer[name] is None] == ["underruns", "lateUnits", "outputLatencyMs", "lastAnswerMs", "medianAnswerMs"]
