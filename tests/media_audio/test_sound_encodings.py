"""Wire encodings of sound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omnitalk.media.audio import ENCODINGS, SILENCE_DBFS, decode, encode, level_dbfs


@pytest.mark.parametrize(("encoding", "worst"), [("pcm16", 4e-5), ("pcm_f32le", 0.0), ("g711_ulaw", 0.021), ("g711_alaw", 0.018)])
def test_what_is_encoded_comes_back(encoding: str, worst: float) -> None:
    samples = np.linspace(-1.0, 1.0, 4001, dtype=np.float32)
    assert np.abs(decode(encode(samples, encoding), encoding) - samples).max() <= worst


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoding_what_was_decoded_changes_nothing(encoding: str) -> None:
    rng = np.random.default_rng(3)
    data = encode(rng.uniform(-1, 1, 2000).astype(np.float32), encoding)
    assert encode(decode(data, encoding), encoding) == data


@pytest.mark.parametrize(
    ("encoding", "byte", "linear"),
    # From the G.711 tables: the largest and smallest magnitudes of each sign, 16-bit scale.
    [
        ("g711_ulaw", 0x80, 32124), ("g711_ulaw", 0x00, -32124), ("g711_ulaw", 0xFE, 8), ("g711_ulaw", 0xFF, 0),
        ("g711_alaw", 0xAA, 32256), ("g711_alaw", 0x2A, -32256), ("g711_alaw", 0xD5, 8), ("g711_alaw", 0x55, -8),
    ],
)  # fmt: skip
def test_g711_values_are_the_standard_ones(encoding: str, byte: int, linear: int) -> None:
    assert round(float(decode(bytes([byte]), encoding)[0]) * 32768) == linear


@given(st.lists(st.integers(-32768, 32767), max_size=200))
def test_pcm16_is_exact(values: list[int]) -> None:
    data = np.array(values, "<i2").tobytes()
    assert encode(decode(data, "pcm16"), "pcm16") == data


def test_values_outside_the_scale_are_clipped() -> None:
    assert decode(encode(np.array([2.0, -2.0], np.float32), "pcm16"), "pcm16").tolist() == [32767 / 32768, -1.0]


@pytest.mark.parametrize(("data", "encoding"), [(b"\0", "pcm16"), (b"\0" * 6, "pcm_f32le")])
def test_half_a_sample_is_refused(data: bytes, encoding: str) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        decode(data, encoding)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_sample_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinite"):
        decode(np.array([0.0, value], "<f4").tobytes(), "pcm_f32le")


def test_levels() -> None:
    assert level_dbfs(np.ones(100, np.float32)) == pytest.approx(0.0)
    assert level_dbfs(np.full(100, 0.1, np.float32)) == pytest.approx(-20.0, abs=1e-4)
    assert level_dbfs(np.zeros(100, np.float32)) == SILENCE_DBFS
    assert level_dbfs(np.zeros(0, np.float32)) == SILENCE_DBFS
