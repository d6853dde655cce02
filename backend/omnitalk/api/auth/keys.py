"""The file of keys: one line a key, with its digest and not the key itself, and a secret that cookies and links are signed with.

::

    # omnitalk keys
    secret 9f86d081…                                  64 hex digits
    key anna sha256:2c26b46b… per_minute=120 at_once=8
    key bob plain:a-word-of-16-or-more                kept as it is; this file is for its owner only
"""

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Self

import msgspec

__all__ = ["AuthFileError", "Key", "Keyring", "add_key", "digest"]

_PREFIX = "ot_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEPT = re.compile(r"sha256:(?P<digest>[0-9a-f]{64})|plain:(?P<plain>[!-~]{16,200})")
_MOST_KEYS = 10_000


class AuthFileError(Exception):
    """The file cannot be used; the message names the line and what is wrong with it."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """``per_minute``: requests and calls that may begin; ``at_once``: how many may go on. Shared by all who use the key."""

    name: str
    digest: str
    per_minute: int = 120
    at_once: int = 8


def digest(secret: str) -> str:
    """What the file keeps of a key. A key is 32 random bytes, so a plain hash cannot be guessed back."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Keyring:
    """Keys by digest: looking one up takes the same time whether it is nearly right or not at all."""

    def __init__(self, keys: list[Key], secret: bytes) -> None:
        self._by_digest = {key.digest: key for key in keys}
        self._by_name = {key.name: key for key in keys}
        self.secret = secret

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises ``AuthFileError``."""
        try:
            mode, text = path.stat().st_mode, path.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise AuthFileError(f"The keys in {path} cannot be read ({problem}). Make a first one: omnitalk auth new-key NAME.") from None
        if mode & 0o077:
            raise AuthFileError(f"{path} may be read by others on this machine: chmod 600 {path}")
        keys: list[Key] = []
        secret = b""
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            try:
                if words[0] == "secret":
                    (hexed,) = words[1:]
                    secret = bytes.fromhex(hexed)
                elif words[0] == "key":
                    keys.append(_key(words[1:]))
                else:
                    raise ValueError(f"a line begins with secret or key, not {words[0][:20]!r}")
            except ValueError as problem:
                raise AuthFileError(f"{path}, line {number}: {problem}.") from None
        if len(secret) < 32:
            raise AuthFileError(f"{path} has no line `secret` with 64 hex digits; omnitalk auth new-key writes one.")
        if not keys or len(keys) > _MOST_KEYS or len({key.name for key in keys}) < len(keys):
            raise AuthFileError(f"{path} needs at least one key, at most {_MOST_KEYS}, and each name once.")
        return cls(keys, secret)

    def find(self, secret: str) -> Key | None:
        """The key, if it is one."""
        return self._by_digest.get(digest(secret))

    def named(self, name: str) -> Key | None:
        """The key of this name, if it is still there."""
        return self._by_name.get(name)


def _key(words: list[str]) -> Key:
    kept = _KEPT.fullmatch(words[1]) if len(words) > 1 and _NAME.fullmatch(words[0]) else None
    if kept is None:
        raise ValueError(
            "a key is written `key NAME sha256:64-HEX-DIGITS` or `key NAME plain:16-CHARACTERS-OR-MORE`, "
            "with per_minute=N and at_once=N after it"
        )
    limits: dict[str, int] = {}
    for word in words[2:]:
        name, _, value = word.partition("=")
        if name not in ("per_minute", "at_once") or not value.isdigit() or not 1 <= int(value) <= 1_000_000:
            raise ValueError(f"{word[:40]!r} is not per_minute=N or at_once=N with a number from 1")
        limits[name] = int(value)
    return Key(name=words[0], digest=kept["digest"] or digest(kept["plain"]), **limits)


def add_key(path: Path, name: str) -> str:
    """Makes a key and writes its digest to the file, which is made when it is not there, for this user only. Raises ``AuthFileError``."""
    if not _NAME.fullmatch(name):
        raise AuthFileError("A key's name has letters, digits, dots, dashes and underscores, at most 64.")
    if path.exists():
        if Keyring.read(path).named(name) is not None:
            raise AuthFileError(f"{path} has a key named {name!r} already: take its line out first, or choose another name.")
        lines = ""
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = f"# Who may use this server. Keys are kept as digests; a line taken out ends its key.\nsecret {secrets.token_hex(32)}\n"
    secret = _PREFIX + secrets.token_urlsafe(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a") as file:
        file.write(f"{lines}key {name} sha256:{digest(secret)}\n")
    return secret
