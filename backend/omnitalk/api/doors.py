"""What the OpenAI-compatible doors of one server share."""

import asyncio

from omnitalk.media.fetch import Fetcher
from omnitalk.media.source import MediaSource
from omnitalk.settings import ServeSettings

from .body import BodyLimits
from .completions.reading import Reader
from .completions.spoken import SpokenAnswers
from .gate import Gate

__all__ = ["Doors"]


class Doors:
    """Built from the settings."""

    def __init__(self, settings: ServeSettings) -> None:
        fetcher = None if settings.fetch_media == "no" else Fetcher(private=settings.fetch_media == "any", within_s=settings.fetch_within_s)
        self.source = MediaSource(fetcher, settings.allowed_local_media_path)
        self.spoken = SpokenAnswers()
        # One file at a time: decoding other people's files must leave the other cores to those who are on a call.
        self.decoding = asyncio.Semaphore(1)
        self.reader = Reader(self.source, self.spoken, self.decoding)
        self.gate = Gate(settings.max_requests)
        self.body = BodyLimits(settings.max_body_bytes, settings.body_within_s)
