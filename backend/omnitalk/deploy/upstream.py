"""Where vLLM-Omni's own deploy files lie on this machine, found without importing it (an import takes seconds and may want a GPU)."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Upstream", "find_upstream"]


@dataclass(frozen=True)
class Upstream:
    """An installed vLLM-Omni. ``version`` is None when the package has no metadata."""

    folder: Path
    version: str | None


def find_upstream() -> Upstream | None:
    """The folder with the installed vLLM-Omni's deploy files, or None when it is not installed here."""
    for location in _locations():
        folder = Path(location) / "deploy"
        if folder.is_dir():
            return Upstream(folder, _version())
    return None


def _locations() -> Iterable[str]:
    loaded = sys.modules.get("vllm_omni")
    if loaded is not None:
        return list(getattr(loaded, "__path__", ()))
    # A name without a dot: its spec is found on the path, and nothing of the package runs.
    spec = find_spec("vllm_omni")
    return () if spec is None else spec.submodule_search_locations or ()


def _version() -> str | None:
    try:
        return version("vllm-omni")
    except PackageNotFoundError:
        return None
