"""Structured logs. What people say, their sound, tokens and keys are never logged: ids, names, counts and reasons only."""

import logging
import sys

import structlog
from structlog.typing import EventDict

__all__ = ["configure", "withhold"]

_PRIVATE = frozenset({"api_key", "audio", "delta", "instructions", "item", "resume_token", "text", "token", "transcript", "words"})


def withhold(logger: object, method: str, line: EventDict) -> EventDict:
    """A structlog processor: private fields keep their name and lose their value, whoever logs them."""
    for name in _PRIVATE & line.keys():
        line[name] = "[withheld]"
    return line


def configure(level: str = "info") -> None:
    """Sets structlog and the standard library's logging up for a server on a terminal."""
    number = getattr(logging, level.upper())
    logging.basicConfig(level=number, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    for noisy in ("httpx", "httpcore", "numba", "asyncio"):
        logging.getLogger(noisy).setLevel(max(number, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            withhold,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
