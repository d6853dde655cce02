"""A file of keys."""

from pathlib import Path

import pytest
from omnitalk.api.auth.keys import Keyring, add_key


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def key(file: Path) -> str:
    """Anna's, the first in the file."""
    return add_key(file, "anna")


@pytest.fixture
def ring(file: Path, key: str) -> Keyring:
    return Keyring.read(file)
