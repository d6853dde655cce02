"""Where files that are not code lie: in the repository when run from it, inside the package when installed from a wheel."""

from pathlib import Path
from typing import Literal

__all__ = ["asset_dir"]

_PACKAGE = Path(__file__).parent
_IN_REPOSITORY = {"stages": "deploy/stages"}


def asset_dir(name: Literal["web", "shared_ui", "profiles", "stages"]) -> Path:
    """The folder. Raises ``FileNotFoundError`` when the installation is incomplete."""
    for folder in (_PACKAGE / "_assets" / name, _PACKAGE.parent.parent / _IN_REPOSITORY.get(name, name)):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"The folder {name}/ is missing from this installation; reinstall omnitalk.")
