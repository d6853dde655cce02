"""What the engine is started with, and what its deploy file says before anything heavy is imported."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from omnitalk.deploy import DeployFile, DeployFileError, find_file, find_upstream, read
from omnitalk.engines.base import EngineError

__all__ = ["DEFAULT_MODEL", "DeployFacts", "Family", "OmniOptions", "read_deploy"]

Family = Literal["minicpm", "qwen3"]

DEFAULT_MODEL = "openbmb/MiniCPM-o-4_5"

_DEFAULT_DEPLOY: dict[Family, str] = {"minicpm": "minicpm_1gpu", "qwen3": "qwen3_omni_2gpu"}


@dataclass(frozen=True, kw_only=True)
class OmniOptions:
    """``model``: hub id or a folder. ``deploy_config``: a file, or the name of one of ours (``omnitalk deploy list``) or of vLLM-Omni's;
    None: ours for one GPU (Qwen3-Omni: two).

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

    file: DeployFile
    max_sessions: int
    stages: int
    max_model_len: int | None


def read_deploy(options: OmniOptions) -> DeployFacts:
    """Reads the deploy file with what it inherits. Raises ``EngineError`` that names the file."""
    try:
        file = read(_find(options.deploy_config or _DEFAULT_DEPLOY[options.family]))
    except DeployFileError as problem:
        raise _cannot(str(problem)) from problem
    data = file.data
    if file.missing_base is None and data.get("session_mode", "turn") != "duplex":
        raise _cannot(f"{file.path.name} cannot be used: session_mode must be duplex, a turn deployment holds no calls.")
    most = (data.get("duplex_session") or {}).get("max_sessions", 1)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise _cannot(f"{file.path.name} cannot be used: duplex_session.max_sessions must be a whole number above 0.")
    stages = data.get("stages") or []
    thinker = {**(stages[0] if stages else {}), **options.stage_overrides.get("0", {})}
    length = thinker.get("max_model_len")
    return DeployFacts(
        file=file,
        max_sessions=min(most, options.max_sessions or most),
        stages=len(stages) or 3,
        max_model_len=length if isinstance(length, int) else None,
    )


def _find(name: str) -> Path:
    """A path, one of our files, or one of vLLM-Omni's by its bare name."""
    try:
        return find_file(name)
    except DeployFileError:
        upstream = find_upstream()
        if upstream is not None and Path(name).name == name and (upstream.folder / name).is_file():
            return upstream.folder / name
        raise


def _cannot(sentence: str) -> EngineError:
    return EngineError("engine_error", sentence, kind="server_error")
