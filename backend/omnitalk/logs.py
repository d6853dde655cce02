"""Structured logs. What people say, their sound, tokens and keys are never logged: ids, names, counts and reasons only."""

import logging
import re
import sys

import structlog
from structlog.typing import EventDict

__all__ = ["configure", "make_discreet", "withhold"]

_PRIVATE = frozenset({"api_key", "audio", "delta", "instructions", "item", "resume_token", "text", "token", "transcript", "words"})

_SECRET_IN_URL = re.compile(r"([?&](?:token|key|api_key|access_token|resume_token)=)[^&\s]+", re.IGNORECASE)


def withhold(logger: object, method: str, line: EventDict) -> EventDict:
    """A structlog processor: private fields keep their name and lose their value, whoever logs them."""
    for name in _PRIVATE & line.keys():
        line[name] = "[withheld]"
    return line


class _Discreet(logging.Filter):
    """uvicorn logs the address of a request with its query; what lets somebody in is taken out of it.

    Asked for details it also logs every header and frame of a socket: keys, cookies, what people say. Those lines are dropped.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "uvicorn.error" and record.levelno <= logging.DEBUG:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(_SECRET_IN_URL.sub(r"\1[withheld]", each) if isinstance(each, str) else each for each in record.args)
        return True


_DISCREET = _Discreet()


def make_discreet() -> None:
    """Takes secrets out of what uvicorn logs; a second time does nothing."""
    for name in ("uvicorn.access", "uvicorn.error"):
        logging.getLogger(name).addFilter(_DISCREET)


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
