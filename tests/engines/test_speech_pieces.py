"""Pieces of speech and the words in them."""

import numpy as np
import pytest
from omnitalk.engines.cascade.speech import SpeechCutter, trim

RATE = 24_000


def loud(ms: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Sound that is nowhere quiet."""
    return np.full(RATE * ms // 1000, 0.5, np.float32)


def test_pieces_are_short_and_the_first_is_shortest() -> None:
    cutter = SpeechCutter(RATE)
    pieces = [*cutter.cut("Hello there,", loud(450)), *cutter.cut(" my friend.", loud(410))]
    assert [round(piece.samples.size * 1000 / RATE) for piece in pieces] == [100, 200, 150, 200, 200, 10]


def test_words_are_whole_and_add_up() -> None:
    cutter = SpeechCutter(RATE)
    pieces = [*cutter.cut("Hello there,", loud(450)), *cutter.cut(" my friend. ", loud(410))]
    assert "".join(piece.words for piece in pieces) == "Hello there, my friend. "
    marks = [mark for piece in pieces for mark in piece.marks]
    assert [mark.text_chars for mark in marks] == [5, 12, 15, 24]
    assert [mark.audio_end_ms for mark in marks] == sorted(mark.audio_end_ms for mark in marks)
    assert marks[1].audio_end_ms == pytest.approx(450.0)
    assert marks[-1].audio_end_ms == pytest.approx(860.0)


def test_markup_goes_with_the_next_words() -> None:
    cutter = SpeechCutter(RATE)
    cutter.skip("** ")
    assert "".join(piece.words for piece in cutter.cut("Hi.", loud(200))) == "** Hi."


def test_silence_around_a_clause_becomes_a_pause_that_fits() -> None:
    quiet = np.zeros(RATE // 2, np.float32)
    sound = np.concatenate([quiet, loud(300), quiet])
    assert trim(sound, RATE, "One,").size * 1000 / RATE == pytest.approx(300 + 15 + 120, abs=2)
    assert trim(sound, RATE, "One.").size * 1000 / RATE == pytest.approx(300 + 15 + 260, abs=2)
    assert trim(sound, RATE, "One").size * 1000 / RATE == pytest.approx(300 + 15 + 25, abs=2)
    assert trim(loud(300), RATE, "One.").size * 1000 / RATE == pytest.approx(560, abs=2)
    assert trim(quiet, RATE, "One.").size == 0
