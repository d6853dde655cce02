"""The base of every event on the wire, and the few types that events share.

Field conventions, kept by every struct in this package:

* ``UNSET`` means "not on the wire": an additive field that this event does not carry.
* ``None`` means JSON ``null``: the OpenAI GA schema has the field and allows null.
* ``bytes`` fields are base64 strings in JSON and raw blobs in the binary codec.
* times are milliseconds (``*_ms``), rates Hz (``*_hz``, and ``rate`` inside ``AudioFormat``).
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "ClientEvent", "Id", "JsonObject", "Milliseconds", "Sequence", "ServerEvent", "UnsetType"]

JsonObject = dict[str, Any]

Id = Annotated[str, msgspec.Meta(max_length=512)]
"""An id or a short word that a client chose; 512 characters is OpenAI's limit for ``event_id``."""

Sequence = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
"""A counter that a browser can hold exactly."""

Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A moment or a length of sound; the bound (31 years) keeps sums finite."""


class ClientEvent(msgspec.Struct, kw_only=True, tag_field="type", omit_defaults=True):
    """What a client sends. ``event_id`` is echoed as ``error.error.event_id`` when the event is refused."""

    event_id: Id | None = None

    @property
    def type(self) -> str:
        """The event's name on the wire, e.g. ``response.create``."""
        return str(self.__struct_config__.tag)


class ServerEvent(msgspec.Struct, kw_only=True, tag_field="type"):
    """What the server sends. ``Call`` stamps ``event_id`` and ``server_event_seq`` when it journals the event."""

    event_id: str = ""
    session_id: str | UnsetType = UNSET
    epoch: int | UnsetType = UNSET
    server_event_seq: int | UnsetType = UNSET

    @property
    def type(self) -> str:
        """The event's name on the wire, e.g. ``response.done``."""
        return str(self.__struct_config__.tag)
