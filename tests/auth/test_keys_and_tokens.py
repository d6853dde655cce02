"""The file of keys, and words that can be checked and not made."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omnitalk.api.auth.keys import AuthFileError, Key, Keyring, add_key
from omnitalk.api.auth.limits import Limits
from omnitalk.api.auth.tokens import sign, verify
from omnitalk.call.clock import ManualClock
from omnitalk.protocol.errors import ProtocolError

SECRET = b"s" * 32


def test_a_key_is_found_by_itself_and_the_file_does_not_hold_it(file: Path, key: str, ring: Keyring) -> None:
    found = ring.find(key)
    assert found is not None
    assert found.name == "anna"
    assert ring.find(key + "x") is None
    assert key not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    second = add_key(file, "bob")
    both = Keyring.read(file)
    assert {both.find(key).name, both.find(second).name} == {"anna", "bob"}  # type: ignore[union-attr]
    with pytest.raises(AuthFileError, match="already"):
        add_key(file, "bob")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("keys anna", "line 4: a line begins with secret or key"),
        ("key anna plain", "sha256"),
        ("key eve plain:short", "16-CHARACTERS"),
        ("key ../x sha256:" + "a" * 64, "line 4"),
        ("key eve sha256:" + "a" * 64 + " at_once=0", "from 1"),
        ("key eve sha256:" + "a" * 64 + " admin=1", "admin=1"),
        ("key anna sha256:" + "a" * 64, "each name once"),
    ],
)
def test_a_line_that_is_wrong_is_named(file: Path, key: str, line: str, says: str) -> None:
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(AuthFileError, match=says):
        Keyring.read(file)


def test_a_key_may_be_kept_as_it_is(file: Path, key: str) -> None:
    file.write_text(file.read_text() + "key bob plain:correct-horse-battery at_once=2\n")
    found = Keyring.read(file).find("correct-horse-battery")
    assert found is not None
    assert (found.name, found.at_once) == ("bob", 2)


def test_a_file_that_others_may_read_is_refused(file: Path, key: str) -> None:
    file.chmod(0o644)
    with pytest.raises(AuthFileError, match="chmod 600"):
        Keyring.read(file)


def test_a_token_is_good_for_its_kind_and_its_time() -> None:
    token = sign(SECRET, "cookie", "anna ünï", 1_000.0)
    assert verify(SECRET, "cookie", token, 999.0) == ("anna ünï", 1_000.0)
    assert verify(SECRET, "cookie", token, 1_000.0) is None
    assert verify(SECRET, "link", token, 999.0) is None
    assert verify(b"t" * 32, "cookie", token, 999.0) is None


@given(st.text(max_size=200), st.integers(0, 60), st.characters())
def test_nothing_that_is_not_ours_passes(text: str, place: int, other: str) -> None:
    token = sign(SECRET, "cookie", "anna", 1_000.0)
    assert verify(SECRET, "cookie", text, 0.0) is None
    forged = token[:place] + other + token[place + 1 :]
    assert forged == token or verify(SECRET, "cookie", forged, 0.0) is None


def test_a_key_has_so_many_a_minute_and_so_many_at_once() -> None:
    clock = ManualClock()
    limits, key = Limits(clock), Key(name="anna", digest="", per_minute=6, at_once=2)
    for _ in range(6):
        limits.begin(key)
    with pytest.raises(ProtocolError, match="6 requests a minute"):
        limits.begin(key)
    clock.advance(10.1)
    limits.begin(key)
    first, _second = limits.enter(key), limits.enter(key)
    with pytest.raises(ProtocolError, match="2 requests and calls at once"):
        limits.enter(key)
    first.leave()
    first.leave()
    limits.enter(key)
    with pytest.raises(ProtocolError):
        limits.enter(key)
    limits.enter(Key(name="bob", digest=""))
