"""Sound is laid on the grid of the model's units, whatever pieces and formats it comes in; pictures wait for the unit's last piece."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omnitalk.engines.base import EngineError
from omnitalk.engines.omni.intake import PIECE, UNIT, Intake, Piece
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.session import AudioFormat

WIRE = AudioFormat(rate=16_000)


def sound(samples: int, level: int = 0) -> bytes:
    return np.full(samples, level, "<i2").tobytes()


def heard(intake: Intake, *events: InputAudioBufferAppend) -> list[Piece]:
    return [piece for event in events for piece in intake.hear(event, WIRE)[0]]


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_pieces_are_whole_and_units_have_ten_of_them(sizes: list[int]) -> None:
    pieces = heard(Intake(None), *(InputAudioBufferAppend(audio=sound(size)) for size in sizes))
    assert len(pieces) == sum(sizes) // PIECE
    assert {len(piece.sound) for piece in pieces} <= {2 * PIECE}
    assert [piece.completes for piece in pieces] == [(index + 1) % (UNIT // PIECE) == 0 for index in range(len(pieces))]
    assert [piece.unit for piece in pieces] == [index // (UNIT // PIECE) for index in range(len(pieces))]


def test_sound_of_another_rate_keeps_its_length() -> None:
    intake = Intake(None)
    pieces, _ = intake.hear(InputAudioBufferAppend(audio=sound(48_000), sample_rate_hz=48_000), WIRE)
    # A resampler holds a little back until more comes.
    assert len(pieces) in (9, 10)


def test_only_the_newest_picture_goes_and_only_with_the_last_piece() -> None:
    intake = Intake(None)
    pieces = heard(intake, *(InputAudioBufferAppend(audio=sound(PIECE), video_frames=[bytes([index])]) for index in range(20)))
    assert [piece.frames for piece in pieces if piece.frames] == [(b"\x09",), (b"\x13",)]
    assert all(piece.completes for piece in pieces if piece.frames)
    assert intake.frames_replaced == 18


def test_a_wish_to_listen_holds_through_the_unit_and_no_longer() -> None:
    intake = Intake(None)
    first = heard(intake, InputAudioBufferAppend(audio=sound(3 * PIECE)))
    intake.listen()
    rest = heard(intake, InputAudioBufferAppend(audio=sound(17 * PIECE)))
    assert not any(piece.listen for piece in first)
    assert [piece.listen for piece in rest] == [True] * 7 + [False] * 10


def test_a_clients_word_for_speech_is_taken() -> None:
    pieces = heard(Intake(None), InputAudioBufferAppend(audio=sound(PIECE), is_speech=True), InputAudioBufferAppend(audio=sound(9 * PIECE)))
    assert pieces[0].speech is True


def test_loudness_decides_for_the_call_while_no_model_is_there() -> None:
    intake = Intake(None)
    loud, quiet = sound(PIECE * 10, 8_000), sound(PIECE * 10, 3)
    assert all(frame.probability == 1.0 for frame in intake.hear(InputAudioBufferAppend(audio=loud), WIRE)[1])
    assert all(frame.probability == 0.0 for frame in intake.hear(InputAudioBufferAppend(audio=quiet), WIRE)[1][1:])


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (InputAudioBufferAppend(audio=b"\x00"), "bad_audio"),
        (InputAudioBufferAppend(audio=b"\x00\x00", format="mp3"), "unsupported_audio_format"),
        (InputAudioBufferAppend(audio=b"\x00\x00", sample_rate_hz=3), "unsupported_audio_format"),
    ],
)
def test_bad_sound_is_refused_by_name(event: InputAudioBufferAppend, code: str) -> None:
    with pytest.raises(EngineError) as refused:
        Intake(None).hear(event, WIRE)
    assert refused.value.code == code
