"""The data channel ``oai-events``: one event a message, in order, and never so many at once that one which must be quick waits."""

import asyncio
from collections.abc import Callable

from aiortc import RTCDataChannel

from omnitalk.protocol import binary_codec, json_codec
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError

from .fitting import fit

__all__ = ["LABEL", "ChannelClosed", "EventChannel", "SlowPeer"]

LABEL = "oai-events"

_UNSENT_BYTES = 16_000
"""What may wait in the channel before another event is put behind it."""


class ChannelClosed(Exception):
    """The peer or the network closed it."""


class SlowPeer(Exception):
    """It takes nothing any more."""


class EventChannel:
    """``receive`` gets the peer's events as they come, ``refuse`` what is none. Used from the loop only."""

    def __init__(
        self,
        channel: RTCDataChannel,
        receive: Callable[[AnyClientEvent], None],
        refuse: Callable[[ProtocolError], None],
        *,
        send_s: float,
    ) -> None:
        self._channel, self._receive, self._refuse, self._send_s = channel, receive, refuse, send_s
        self._changed = asyncio.Event()
        channel.bufferedAmountLowThreshold = _UNSENT_BYTES
        channel.on("message", self._on_message)
        channel.on("open", self._changed.set)
        channel.on("close", self._changed.set)
        channel.on("bufferedamountlow", self._changed.set)

    async def send(self, event: ServerEvent) -> None:
        """Sends one event as soon as there is room for it. Raises ``ChannelClosed``, ``SlowPeer``."""
        await self._until(lambda: self._channel.bufferedAmount <= _UNSENT_BYTES)
        self._channel.send(fit(event))

    async def flush(self) -> None:
        """Waits until all of it is on its way. Raises ``ChannelClosed``, ``SlowPeer``."""
        self._channel.bufferedAmountLowThreshold = 0
        await self._until(lambda: self._channel.bufferedAmount == 0)

    async def _until(self, true: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(self._send_s):
                while True:
                    self._changed.clear()
                    if self._channel.readyState in ("closing", "closed"):
                        raise ChannelClosed
                    if self._channel.readyState == "open" and true():
                        return
                    await self._changed.wait()
        except TimeoutError:
            raise SlowPeer from None

    def _on_message(self, message: str | bytes) -> None:
        try:
            event = json_codec.decode_client(message) if isinstance(message, str) else binary_codec.decode_client(message)
        except ProtocolError as problem:
            self._refuse(problem)
            return
        self._receive(event)
