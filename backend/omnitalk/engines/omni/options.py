"""What the engine is started with, and what its deploy file says before anything heavy is imported."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import yaml

from omnitalk.engines.base import EngineError

__all__ = ["DEFAULT_MODEL", "DeployFacts", "Family", "OmniOptions", "package_deploy_folder", "read_deploy", "settled"]

Family = Literal["minicpm", "qwen3"]

DEFAULT_MODEL = "openbmb/MiniCPM-o-4_5"

_DEFAULT_DEPLOY: dict[Family, str] = {"minicpm": "minicpmo_4_5.yaml", "qwen3": "qwen3_omni_duplex.yaml"}
_MAX_BASES = 8


@dataclass(frozen=True, kw_only=True)
class OmniOptions:
    """``model``: hub id or a folder. ``deploy_config``: a file, or the bare name of one of vLLM-Omni's; None: its default.

    ``stage_overrides``: stage id → engine arguments, over the deploy file. ``max_sessions``: fewer calls than the file allows.
    ``voice``: a WAV or FLAC file that replaces the built-in reference voice. Times in seconds.
    """

    model: str
    deploy_config: str | None = None
    stage_overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_sessions: int | None = None
    voice: Path | None = None
    stage_init_timeout_s: int = 600
    init_timeout_s: int = 1200
    warm_up: bool = True

    @property
    def family(self) -> Family:
        """Which model this is: by its configuration when it is a folder, else by its name. Not Qwen3-Omni: MiniCPM-o 4.5."""
        try:
            named = str(json.loads((Path(self.model).expanduser() / "config.json").read_text()).get("model_type"))
        except (OSError, ValueError, AttributeError):
            named = Path(self.model).name
        return "qwen3" if "qwen" in named.lower() else "minicpm"


@dataclass(frozen=True, kw_only=True)
class DeployFacts:
    """What matters of a deploy file before the start. ``stages``: how many; ``max_model_len``: of stage 0, None when it does not say."""

    path: Path | None
    max_sessions: int
    stages: int
    max_model_len: int | None


def package_deploy_folder() -> Path | None:
    """Where the installed vLLM-Omni keeps its deploy files; None when it is not installed. Imports nothing of it."""
    spec = find_spec("vllm_omni")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "deploy"


def read_deploy(options: OmniOptions) -> DeployFacts:
    """Reads the deploy file with what it inherits. Raises ``EngineError`` that names the file."""
    path = _find(options.deploy_config or _DEFAULT_DEPLOY[options.family])
    if path is None:
        return DeployFacts(path=None, max_sessions=options.max_sessions or 1, stages=3, max_model_len=None)
    merged = _load(path, 0)
    sessions = merged.get("duplex_session") or {}
    most = sessions.get("max_sessions", 1)
    if not isinstance(most, int) or most < 1:
        raise _bad(path, "duplex_session.max_sessions must be a whole number above 0")
    if merged.get("session_mode", "turn") != "duplex":
        raise _bad(path, "session_mode must be duplex: a turn deployment holds no calls")
    stages = merged.get("stages") or []
    thinker = {**(stages[0] if stages else {}), **options.stage_overrides.get("0", {})}
    length = thinker.get("max_model_len")
    return DeployFacts(
        path=path,
        max_sessions=min(most, options.max_sessions or most),
        stages=len(stages) or 3,
        max_model_len=length if isinstance(length, int) else None,
    )


def _find(name: str) -> Path | None:
    path = Path(name).expanduser()
    if path.is_file():
        return path
    folder = package_deploy_folder()
    if folder is not None and path.name == name and (folder / name).is_file():
        return folder / name
    if folder is None and path.name == name:
        return None
    raise EngineError("engine_error", f"There is no deploy file {name!r}. Give a path, or see `omnitalk deploy list`.", kind="server_error")


def _load(path: Path, depth: int) -> dict[str, Any]:
    if depth > _MAX_BASES:
        raise _bad(path, "its base_config files inherit in a circle")
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise _bad(path, f"it cannot be read: {problem}") from problem
    if not isinstance(data, dict):
        raise _bad(path, "it must hold a mapping")
    base = data.get("base_config")
    if not isinstance(base, str):
        return data
    parent = path.parent / base
    if not parent.is_file():
        found = _find(base)
        if found is None:
            return data
        parent = found
    return _merged(_load(parent, depth + 1), data)


def settled(path: Path, folder: Path) -> Path:
    """The file as vLLM-Omni must be given it: it looks for ``base_config`` beside the file only, so a bare name of one of its own
    files is written out as a whole path, in a copy in ``folder``. A file that needs no help is returned as it is."""
    data = yaml.safe_load(path.read_text())
    base = data.get("base_config") if isinstance(data, dict) else None
    if not isinstance(base, str) or (path.parent / base).is_file():
        return path
    parent = _find(base)
    if parent is None:
        return path
    copy = folder / path.name
    copy.write_text(yaml.safe_dump({**data, "base_config": str(settled(parent, folder).resolve())}, sort_keys=False))
    return copy


def _merged(base: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """As vLLM-Omni does it: stages by their id, connectors and platforms key by key, anything else replaced."""
    result = dict(base)
    for key, value in ours.items():
        if key == "stages" and isinstance(value, list):
            by_id = {stage.get("stage_id"): dict(stage) for stage in base.get("stages") or []}
            for stage in value:
                by_id[stage.get("stage_id")] = {**by_id.get(stage.get("stage_id"), {}), **stage}
            result[key] = [by_id[number] for number in sorted(by_id, key=lambda number: (number is None, number))]
        elif key in ("connectors", "platforms") and isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = {**result[key], **value}
        else:
            result[key] = value
    return result


def _bad(path: Path, rule: str) -> EngineError:
    return EngineError("engine_error", f"{path.name} cannot be used: {rule}.", kind="server_error")
