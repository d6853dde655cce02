"""Work that is worth doing only while the client is there to get it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

__all__ = ["while_present"]

T = TypeVar("T")


async def while_present(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Raises ``ClientDisconnect`` as soon as the client goes, when the work has been cancelled and has ended.

    The request's body must have been read: what comes next from ``receive`` is the goodbye.
    """
    working = asyncio.create_task(work, name="answer")
    watching = asyncio.create_task(_gone(receive), name="client's presence")
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
