"""Every file that ships is accepted, says the same in its numbers and its text, and fits the cards it is for."""

import re
from pathlib import Path

import pytest
from omnitalk.deploy import Upstream, check, described, our_files, read, write

NAMES = [path.stem for path in our_files()]
# The GPUs each is for, and the stages of one host where it is for several.
CARDS: dict[str, list[tuple[str, list[int] | None]]] = {
    "minicpm_1gpu": [("h200", None), ("h100", None), ("a100", None)],
    "minicpm_1gpu_48gb": [("l40s", None)],
    "minicpm_2gpu": [("2xh100", None), ("h100,4090", None)],
    "minicpm_2hosts": [("h100", [0]), ("4090", [1, 2])],
    "minicpm_3gpu": [("3xh100", None), ("h100,24,24", None)],
    "minicpm_3gpu_talkers": [("h100,24,24", None)],
    "minicpm_4gpu_talkers": [("h100,24,24,24", None)],
    "minicpm_8x4090": [("8x4090", None), ("6x4090", None)],
    "minicpm_8x4090_talkers": [("8x4090", None)],
    "qwen3_omni_2gpu": [("2xh100", None)],
}
NUMBERS = {"One": 1, "one": 1, "two": 2, "Three": 3, "Four": 4, "four": 4}


def _path(name: str) -> Path:
    return next(path for path in our_files() if path.stem == name)


def test_each_file_has_its_cards_named_here() -> None:
    assert sorted(CARDS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_accepted_on_its_cards(name: str, upstream: Upstream) -> None:
    file = read(_path(name), upstream)
    assert file.missing_base is None
    for cards, stages in CARDS[name]:
        report = check(file, described(cards), stages)
        assert [finding.text for finding in report.findings if finding.level == "error"] == []
        assert set(report.memory) == set(stages or (0, 1, 2))
        assert not any("parallel_stage_init" in finding.text for finding in report.findings)
        assert {use.index for use in report.cards} <= set(range(len(described(cards))))


@pytest.mark.parametrize("name", NAMES)
def test_sessions_and_seats_agree(name: str, upstream: Upstream) -> None:
    report = check(read(_path(name), upstream), only=CARDS[name][0][1])
    assert report.sessions is not None
    for stage in report.stages:
        # A single replica may be dealt every call.
        assert stage.sequences is not None
        assert stage.sequences >= report.sessions


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_says_how_many_calls(name: str, without_vllm: Path) -> None:
    path = _path(name)
    said = re.search(r"(\w+) calls? at once|(One) call", path.read_text().partition("\n")[0])
    assert said is not None
    assert NUMBERS[said[1] or said[2]] == check(read(path)).sessions


@pytest.mark.parametrize("name", NAMES)
def test_without_vllm_omni_what_it_states_is_checked(name: str, without_vllm: Path) -> None:
    for cards, stages in CARDS[name]:
        report = check(read(_path(name)), described(cards), stages)
        assert report.accepted
        assert any("cannot be read" in finding.text for finding in report.findings)
        assert set(report.memory) == set(stages or (0, 1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_name_of_its_own(name: str) -> None:
    """vLLM-Omni looks for a base beside the file first: one of ours named like one of its own would inherit itself."""
    path = _path(name)
    bases = {re.search(r"^base_config: (\S+)$", each.read_text(), re.MULTILINE) for each in our_files()}
    assert path.name not in {match[1] for match in bases if match}


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_written_for_vllm_omni(name: str, upstream: Upstream, tmp_path: Path) -> None:
    file = read(_path(name), upstream)
    write(file, tmp_path / "out.yaml")
    again = read(tmp_path / "out.yaml", upstream)
    assert again.data == file.data
    assert Path(again.own["base_config"]).is_absolute()


def test_a_card_too_small_is_refused(upstream: Upstream) -> None:
    for name, cards in (("minicpm_1gpu", "48"), ("minicpm_1gpu_48gb", "40"), ("minicpm_2gpu", "2x24"), ("qwen3_omni_2gpu", "2x48")):
        assert not check(read(_path(name), upstream), described(cards)).accepted
