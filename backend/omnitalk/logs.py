"""Structured logs. What people say, their sound, tokens and keys are never logged: ids, names, counts and reasons only."""

import logging
import sys

import structlog

__all__ = ["configure"]


def configure(level: str = "info") -> None:
    """Sets structlog and the standard library's logging up for a server on a terminal."""
    number = getattr(logging, level.upper())
    logging.basicConfig(level=number, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    for noisy in ("httpx", "httpcore", "numba", "asyncio"):
        logging.getLogger(noisy).setLevel(max(number, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
