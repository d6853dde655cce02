"""The script that stands in for a model's decisions, without an engine."""

import json
from pathlib import Path

import pytest
from omnitalk.bench.scripted_draw import VARIABLE, Draw


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "draw.json"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def unit(draw: Draw, *, speech: bool = False, forced: bool = False) -> list[str | int]:
    draw.unit(is_speech=speech, force_listen=forced)
    drawn: list[str | int] = []
    while not drawn or drawn[-1] not in ("listen", "chunk_eos"):
        drawn.append(draw.token())
    return drawn


def test_it_listens_to_speech_and_answers_when_it_is_over(script: Path) -> None:
    script.write_text(json.dumps({"chunks": 2}))
    draw = Draw((1, 2, 3))
    assert unit(draw, speech=True) == ["listen"]
    assert unit(draw)[0] == "speak"
    last = unit(draw)
    assert last[0] == "tts_bos"
    assert last[-2:] == ["turn_eos", "chunk_eos"]
    assert unit(draw) == ["listen"]


def test_it_gives_way_when_told_to_and_answers_later(script: Path) -> None:
    draw = Draw((1, 2, 3))
    unit(draw, speech=True)
    unit(draw)
    assert unit(draw, speech=True, forced=True) == ["listen"]
    assert unit(draw)[0] == "speak"


def test_an_empty_turn_says_nothing(script: Path) -> None:
    script.write_text(json.dumps({"empty": True}))
    draw = Draw((1, 2, 3))
    unit(draw, speech=True)
    assert unit(draw) == ["speak", "turn_eos", "chunk_eos"]
