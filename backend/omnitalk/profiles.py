"""Profiles: how a page drives one kind of model. Data in ``profiles/<id>/profile.yaml``, validated here; behaviour in ``profile.js``."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

__all__ = ["Profile", "ProfileError", "load_profiles"]


class ProfileError(Exception):
    """A profile's data is wrong; the message names the file and the field."""


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Instructions a person can pick."""

    id: str
    title: str
    instructions: str


class Camera(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``max_side`` in pixels, 0 = as captured. ``quality``: JPEG, 0 to 1. ``stacks``: how many frames of a second a person may
    choose to show; those after the first are tiled into a second picture."""

    enabled: bool = False
    fps: float = 1.0
    max_side: int = 0
    quality: float = 0.7
    stacks: tuple[int, ...] = (1,)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates in Hz, times in ms. ``turn_control``: who may end a turn, the default first."""

    id: str
    title: str
    description: str
    honest: str
    turn_control: tuple[Literal["server_vad", "manual", "model"], ...]
    input_rate: int
    output_rate: int
    start_buffer_ms: float
    unit_ms: int | None = None
    start_buffer_adds_lateness: bool = False
    ack_interval_ms: int = 150
    camera: Camera = Camera()
    controls: tuple[str, ...] = ()
    presets: tuple[Preset, ...] = ()
    voices: tuple[str, ...] = ()
    session_defaults: dict[str, Any] = {}
    limits: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON for the page."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def load_profiles(folder: Path) -> dict[str, Profile]:
    """Every profile below ``folder``, by id. Raises ``ProfileError``."""
    profiles: dict[str, Profile] = {}
    for path in sorted(folder.glob("*/profile.yaml")):
        try:
            profile = msgspec.convert(yaml.safe_load(path.read_text()), Profile)
        except (msgspec.ValidationError, yaml.YAMLError) as problem:
            raise ProfileError(f"{path}: {problem}") from None
        if profile.id != path.parent.name:
            raise ProfileError(f"{path}: id is {profile.id!r}, but the folder is named {path.parent.name!r}.")
        profiles[profile.id] = profile
    return profiles
