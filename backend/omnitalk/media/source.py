"""Where a client's media may come from: inside the request, from the network, or from one folder of this machine."""

import asyncio
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .data_url import from_data_url
from .fetch import Fetcher
from .refusal import MediaRefused

__all__ = ["MediaSource"]


@dataclass(frozen=True)
class MediaSource:
    """``fetcher`` None: nothing is fetched. ``folder`` None: no file of this machine is read."""

    fetcher: Fetcher | None = None
    folder: Path | None = None

    async def load(self, url: str, most: int) -> bytes:
        """The bytes behind a URL, at most ``most``. Raises ``MediaRefused``."""
        scheme = url.partition(":")[0].lower() if ":" in url[:16] else ""
        if scheme == "data":
            return from_data_url(url, most)
        if scheme in ("http", "https"):
            if self.fetcher is None:
                raise MediaRefused(
                    "media_not_allowed", "This server fetches no URLs; send the file as a data URL (the host can allow it: --fetch-media)."
                )
            return await self.fetcher.get(url, most)
        if scheme == "file":
            if self.folder is None:
                raise MediaRefused(
                    "media_not_allowed",
                    "This server reads no files of its own (the host can allow a folder: --allowed-local-media-path).",
                )
            return await asyncio.to_thread(_read, url, self.folder, most)
        raise MediaRefused("bad_url", "A URL starts with data:, http://, https:// or file://.")


def _read(url: str, folder: Path, most: int) -> bytes:
    """A plain file under the folder. What is outside and what is not there are refused alike, so nobody can feel for files."""
    parts = urlsplit(url)
    refused = MediaRefused("media_not_allowed", "There is no such file in the folder that this server may read.")
    if parts.netloc not in ("", "localhost"):
        raise MediaRefused("bad_url", "A file URL is written file:///path.")
    try:
        path = Path(unquote(parts.path)).resolve(strict=True)
        if not path.is_relative_to(folder.resolve(strict=True)):
            raise refused
        # A pipe would never end, a device never be done.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError, RuntimeError):
        raise refused from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refused
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise MediaRefused("media_too_large", f"A file may have at most {most} bytes.")
    if not data:
        raise refused
    return data
