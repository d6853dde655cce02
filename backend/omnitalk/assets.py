"""Where the page's files lie: in the repository when run from it, inside the package when installed from a wheel."""

from pathlib import Path
from typing import Literal

__all__ = ["asset_dir"]

_PACKAGE = Path(__file__).parent


def asset_dir(name: Literal["web", "shared_ui", "profiles"]) -> Path:
    """The folder. Raises ``FileNotFoundError`` when the installation is incomplete."""
    for folder in (_PACKAGE / "_assets" / name, _PACKAGE.parent.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"The folder {name}/ is missing from this installation; reinstall omnitalk.")
