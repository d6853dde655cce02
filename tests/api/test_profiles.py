"""Profiles are data that is checked: what ships loads, what is wrong is named with its file."""

from pathlib import Path

import pytest
import yaml
from omnitalk.assets import asset_dir
from omnitalk.profiles import ProfileError, load_profiles

GOOD = {
    "id": "mine",
    "title": "Mine",
    "description": "A profile.",
    "honest": "It does nothing.",
    "turn_control": ["manual"],
    "input_rate": 16_000,
    "output_rate": 24_000,
    "start_buffer_ms": 40,
}


def write(folder: Path, **changes: object) -> None:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "profile.yaml").write_text(yaml.safe_dump({**GOOD, **changes}))


def test_the_profiles_that_ship_are_right_and_have_their_behaviour() -> None:
    folder = asset_dir("profiles")
    profiles = load_profiles(folder)
    assert {"cascade", "minicpm-native", "qwen3"} <= set(profiles)
    for profile in profiles.values():
        assert profile.honest
        assert (folder / profile.id / "profile.js").is_file()


def test_a_profile_is_loaded_with_its_defaults(tmp_path: Path) -> None:
    write(tmp_path)
    [profile] = load_profiles(tmp_path).values()
    assert profile.as_dict()["camera"]["enabled"] is False


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"input_rate": "fast"}, "input_rate"),
        ({"turn_control": ["psychic"]}, "turn_control"),
        ({"colour": "red"}, "colour"),
        ({"camera": {"fps": "many"}}, "camera.fps"),
        ({"id": "other"}, "other"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    write(tmp_path, **changes)
    with pytest.raises(ProfileError) as problem:
        load_profiles(tmp_path)
    assert named in str(problem.value)
    assert "profile.yaml" in str(problem.value)
