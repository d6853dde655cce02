"""The keys as their file has them now: a line taken out ends its key with the next request, a new one opens with it."""

import os
from pathlib import Path

import structlog

from .keys import AuthFileError, Key, Keyring

__all__ = ["KeyFile"]

log = structlog.get_logger("omnitalk.auth")


class KeyFile:
    """Looks at the file's date, size and place for each request, some microseconds, and reads it again when they changed.

    A file that cannot be used, half edited or gone, changes nothing: the keys stay as they were, and the log says why.
    A new ``secret`` signs everybody out and ends every link.
    """

    def __init__(self, path: Path) -> None:
        """Raises ``AuthFileError``."""
        self._path = path
        self._seen = self._look()
        self._ring = Keyring.read(path)

    @property
    def secret(self) -> bytes:
        """What cookies and links are signed with."""
        return self._now().secret

    def find(self, secret: str) -> Key | None:
        """The key, if it is one."""
        return self._now().find(secret)

    def named(self, name: str) -> Key | None:
        """The key of this name, if it is still there."""
        return self._now().named(name)

    def _now(self) -> Keyring:
        look = self._look()
        if look != self._seen:
            self._seen = look
            try:
                self._ring = Keyring.read(self._path)
            except AuthFileError as problem:
                log.error("keys_kept_as_they_were", problem=str(problem))
            else:
                log.info("keys_read_again", path=str(self._path))
        return self._ring

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        # With the mode: a file that others may read is refused, and taken again when that is mended.
        return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)
