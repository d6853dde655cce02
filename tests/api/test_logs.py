"""What people say, their sound and their tokens are never logged, even by a line of code that tries to."""

import pytest
import structlog
from omnitalk.logs import withhold


def test_private_fields_are_withheld() -> None:
    shown = withhold(None, "info", {"event": "x", "call": "call_1", "transcript": "my secret", "resume_token": "t", "audio": b"12"})
    assert shown["call"] == "call_1"
    assert "my secret" not in str(shown) and "b'12'" not in str(shown)
    assert (shown["transcript"], shown["audio"]) == ("[withheld]", "[withheld]")


def test_the_server_logs_through_it(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    from omnitalk.logs import configure

    try:
        configure("info")
        structlog.get_logger("test").info("said", text="my secret", call="call_1")
    finally:
        structlog.configure(**before)
    shown = capsys.readouterr().err
    assert "call_1" in shown and "my secret" not in shown
