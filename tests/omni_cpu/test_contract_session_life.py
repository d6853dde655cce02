"""The contract of every engine, kept by this one: the very tests of ``tests/contract``."""

from tests.contract.test_session_life import *  # noqa: F403
