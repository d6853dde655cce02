"""The playback worklet in a running audio context, judged by the samples that it plays."""

from .conftest import Stage


async def test_nothing_of_a_flushed_reply_is_played_afterwards(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker();
      s.say('a', t.tone(440, 3000));
      await t.until(() => s.heard('started', 'a'));
      await t.pause(200);
      s.send({ do: 'flush', responses: ['a'] });
      s.say('a', t.tone(440, 1000));                       // late, after its flush
      await t.until(() => s.heard('flushed', 'a'));
      s.say('b', t.tone(1000, 300));
      s.send({ do: 'end', response: 'b' });
      s.say('a', t.tone(440, 500));                        // and later still
      await t.until(() => s.heard('cursor', 'b') && s.said.some((one) => one.response === 'b' && one.done));
      await t.pause(100);
      const x = s.samples, cut = Math.round(s.heard('flushed', 'a').at * s.rate) - s.first + 128;
      const b = Math.round(s.heard('started', 'b').at * s.rate) - s.first;
      let full = cut;
      while (Math.abs(x[full]) < 0.45) full--;             // the last crest at full level
      return { before: t.level(x, 440, s.rate, cut - 4800, cut - 1200), between: t.loudest(x, cut, b),
        old: t.level(x, 440, s.rate, b + 480, b + 480 + 9600),
        fresh: t.level(x, 1000, s.rate, b + 480, b + 480 + 9600), fadeMs: (cut - full) * 1000 / s.rate, step: t.steepest(x),
        meter: s.said.filter((one) => one.is === 'meter').at(-1).counters };
    """)
    assert found["before"] > 0.45 and found["fresh"] > 0.45, found
    assert found["between"] == 0, "something was played between the cut and the next reply"
    assert found["old"] < 0.002
    assert found["fadeMs"] <= 10
    assert found["step"] < 0.0725, "a click (the 1 kHz tone itself steps 0.0712 at 44.1 kHz)"
    assert found["meter"]["lateDropped"] == 2


async def test_ducking_is_20_db_within_50_ms_and_is_taken_back(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker();
      s.say('a', t.tone(1000, 3000));
      await t.until(() => s.heard('started'));
      await t.pause(200);
      s.send({ do: 'duck', gainDb: -20, rampMs: 50 });
      await t.pause(400);
      s.send({ do: 'unduck', rampMs: 150 });
      await t.pause(500);
      const x = s.samples, window = Math.round(s.rate / 1000), levels = [];
      for (let at = 0; at + window <= x.length; at += window) levels.push(t.loudest(x, at, at + window));
      const start = levels.findIndex((l) => l > 0.495);
      const falls = levels.findIndex((l, i) => i > start && l < 0.49);
      const low = levels.findIndex((l, i) => i > falls && l < 0.0505);
      return { ms: low - falls, low: Math.min(...levels.slice(low + 2, low + 100)), after: Math.max(...levels.slice(low + 300)) };
    """)
    assert found["ms"] <= 50, found
    assert 0.048 < found["low"] < 0.052
    assert found["after"] > 0.495


async def test_the_cursor_counts_exactly_what_was_rendered_less_the_output_latency(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker();
      s.send({ do: 'latency', seconds: 0.1 });
      s.say('a', t.tone(440, 500));
      s.say('a', t.tone(440, 500));
      s.send({ do: 'end', response: 'a' });
      await t.until(() => s.said.some((one) => one.done));
      const began = s.heard('started').at;
      const expected = (at) => Math.min(1000, Math.max(0, (at - began - 0.1) * 1000));
      return s.said.filter((one) => one.is === 'cursor').map((one) => ({ ...one, expected: expected(one.at) }));
    """)
    assert len(found) > 10
    assert found[-1]["done"] and abs(found[-1]["playedMs"] - 1000) < 0.1
    assert all(abs(one["playedMs"] - one["expected"]) < 8 for one in found), found
    played = [one["playedMs"] for one in found]
    assert played == sorted(played)


async def test_running_dry_fades_out_waits_and_goes_on_without_losing_a_sample(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker();
      s.say('a', t.tone(500, 200));
      await t.until(() => s.heard('underrun'));
      s.say('a', t.tone(500, 300, { from: 4800 }));
      s.send({ do: 'end', response: 'a' });
      await t.until(() => s.said.some((one) => one.done));
      await t.pause(100);
      const x = s.samples, dry = Math.round(s.heard('underrun').at * s.rate) - s.first + 128;
      return { underruns: s.said.filter((one) => one.is === 'underrun').length,
        played: s.said.filter((one) => one.is === 'cursor').at(-1).playedMs,
        step: t.steepest(x), quiet: t.loudest(x, dry, dry + 64) };
    """)
    assert found["underruns"] == 1
    assert abs(found["played"] - 500) < 0.1
    assert found["step"] < 0.04, "a click at the gap"
    assert found["quiet"] == 0


async def test_the_start_buffer_grows_with_the_lateness_measured(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker({ startBufferMs: 40 });
      s.say('a', t.tone(440, 100));
      for (let i = 0; i < 4; i++) { await t.pause(250); s.say('a', t.tone(440, 100)); }
      s.send({ do: 'end', response: 'a' });
      await t.until(() => s.said.some((one) => one.done));
      s.say('b', t.tone(440, 800));
      await t.until(() => s.heard('started', 'b'));
      return { first: s.heard('started', 'a').startBufferMs, next: s.heard('started', 'b').startBufferMs };
    """)
    assert found["first"] == 40
    assert 80 < found["next"] <= 1000


async def test_a_hold_is_not_taken_for_lateness(stage: Stage) -> None:
    found = await stage.run("""
      const s = await t.speaker({ startBufferMs: 40 });
      s.say('a', t.tone(440, 400));
      await t.until(() => s.heard('started', 'a'));
      s.send({ do: 'pause', paused: true });
      await t.pause(1500);
      s.send({ do: 'pause', paused: false });
      for (let i = 1; i < 5; i++) s.say('a', t.tone(440, 100, { from: 2400 * (i + 3) }));
      s.send({ do: 'end', response: 'a' });
      await t.until(() => s.said.some((one) => one.done));
      s.say('b', t.tone(440, 800));
      await t.until(() => s.heard('started', 'b'));
      const played = s.said.filter((one) => one.is === 'cursor' && one.response === 'a').at(-1).playedMs;
      return { played, next: s.heard('started', 'b').startBufferMs };
    """)
    assert abs(found["played"] - 800) < 0.1, "nothing is lost by holding"
    assert found["next"] < 400, "the second and a half of the hold would have made it 1000"


async def test_more_than_the_cap_is_refused_and_counted(stage: Stage) -> None:
    counters = await stage.run("""
      const s = await t.speaker({ capMs: 2000 });
      for (let i = 0; i < 5; i++) s.say('a', t.tone(440, 1000));
      await t.until(() => s.said.some((one) => one.is === 'meter' && one.counters.capDroppedMs > 0));
      await t.pause(50);
      return s.said.filter((one) => one.is === 'meter').at(-1).counters;
    """)
    assert counters["capDroppedMs"] == 3000
