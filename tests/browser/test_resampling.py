"""The resampler, measured with tones: what should pass is clean, what should not is gone, and pieces leave no seams."""

import pytest

from .conftest import Stage

MEASURE = """
const { Resampler } = await import('/shared_ui/worklets/resampler.js');
const [from, to, frequency, piece] = arg;
const resampler = new Resampler(from, to);
const made = [], out = new Float32Array(4096);
for (let i = 0; i < from; i += piece) {
  resampler.push(Float32Array.from({ length: piece }, (_, k) => 0.5 * Math.sin(2 * Math.PI * frequency * (i + k) / from)));
  for (let n; (n = resampler.pull(out)) > 0;) made.push(...out.subarray(0, n));
}
const x = made.slice(500, -500);
// The tone that should come out is known to the sample: the filter looks ahead and does not delay.
const wanted = x.map((_, i) => 0.5 * Math.sin(2 * Math.PI * frequency * (i + 500) / to));
const power = (a) => a.reduce((sum, v) => sum + v * v, 0) / a.length;
const error = power(x.map((v, i) => v - wanted[i]));
return { snr: 10 * Math.log10(power(wanted) / error), level: 10 * Math.log10(power(x) / 0.125), length: made.length };
"""


@pytest.mark.parametrize(
    ("source", "target", "frequency", "piece"),
    [
        (48_000, 16_000, 1_000, 128), (48_000, 16_000, 6_500, 77), (44_100, 16_000, 3_000, 128), (96_000, 16_000, 2_000, 128),
        (24_000, 48_000, 1_000, 31), (24_000, 48_000, 10_000, 128), (24_000, 44_100, 5_000, 480), (48_000, 48_000, 5_000, 128),
    ],
)  # fmt: skip
async def test_a_tone_in_the_pass_band_comes_out_as_it_went_in(stage: Stage, source: int, target: int, frequency: int, piece: int) -> None:
    found = await stage.run(MEASURE, [source, target, frequency, piece])
    assert found["snr"] >= 80, found
    assert abs(found["length"] - target) < 0.01 * target


@pytest.mark.parametrize(("source", "target", "frequency"), [(48_000, 16_000, 8_100), (44_100, 16_000, 12_000), (48_000, 24_000, 13_000)])
async def test_a_tone_above_the_new_band_does_not_fold_back(stage: Stage, source: int, target: int, frequency: int) -> None:
    assert (await stage.run(MEASURE, [source, target, frequency, 128]))["level"] <= -60


async def test_raising_the_rate_makes_no_image(stage: Stage) -> None:
    body = MEASURE.replace("return {", "return { image: t.level(x, arg[0] - frequency, to, 0, 40000),")
    assert (await stage.run(body, [24_000, 48_000, 9_000, 128]))["image"] <= 0.5 * 10 ** (-60 / 20)
