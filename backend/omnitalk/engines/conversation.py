"""The items of one conversation, in order, as the Realtime wire shows them.

An item is a JSON object with the GA fields. The store also knows, for spoken items, which words had been said by when, so that
an item can be cut to what was heard.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple
from uuid import uuid4

from omnitalk.protocol.base import JsonObject

from .base import EngineError

__all__ = ["Conversation", "Mark", "cut_text", "new_id", "user_item", "validate_item"]

MAX_ITEMS = 1_000
MAX_ITEM_TEXT = 32_000
_ROLES = {
    "user": ("input_text", "input_audio", "input_image"),
    "system": ("input_text",),
    "assistant": ("output_text", "output_audio", "text", "audio"),
}


class Mark(NamedTuple):
    """The first ``text_chars`` characters of a reply have been said ``audio_end_ms`` after its first sample."""

    text_chars: int
    audio_end_ms: float


def new_id(prefix: str) -> str:
    """A fresh id such as ``item_4f…`` (24 hex digits)."""
    return f"{prefix}_{uuid4().hex[:24]}"


def cut_text(text: str, marks: list[Mark], heard_ms: float) -> str:
    """The part of ``text`` that was said within ``heard_ms``: whole words only. Without marks nothing counts as said."""
    chars = 0
    for mark in marks:
        if mark.audio_end_ms > heard_ms:
            break
        chars = mark.text_chars
    return text[:chars].rstrip()


def user_item(item_id: str, part: JsonObject, status: str = "completed") -> JsonObject:
    """A user message with one content part."""
    return {"id": item_id, "object": "realtime.item", "type": "message", "status": status, "role": "user", "content": [part]}


def validate_item(raw: JsonObject, *, images: bool = False) -> JsonObject:
    """A client's item, checked and completed (id, object, status). Raises ``EngineError`` that names the field."""
    kind = raw.get("type", "message")
    item_id = raw.get("id") or new_id("item")
    if not isinstance(item_id, str) or len(item_id) > 128:
        raise EngineError("bad_event", "item.id must be a string of at most 128 characters.", param="item.id")
    if kind in ("function_call", "function_call_output"):
        raise EngineError("unsupported", f"This engine calls no functions, so it takes no {kind} items.", param="item.type")
    if kind != "message":
        raise EngineError("bad_event", f"item.type {kind!r} is not known; use 'message'.", param="item.type")
    role = raw.get("role")
    if role not in _ROLES:
        raise EngineError("bad_event", f"item.role must be user, assistant or system, not {role!r}.", param="item.role")
    content = raw.get("content")
    if not isinstance(content, list) or not content:
        raise EngineError("bad_event", "item.content must be a list with at least one part.", param="item.content")
    parts = [_part(part, role, f"item.content[{index}]", images) for index, part in enumerate(content)]
    return {"id": item_id, "object": "realtime.item", "type": "message", "status": "completed", "role": role, "content": parts}


def _part(part: object, role: str, where: str, images: bool) -> JsonObject:
    if not isinstance(part, dict):
        raise EngineError("bad_event", f"{where} must be an object.", param=where)
    kind = part.get("type")
    if kind not in _ROLES[role]:
        kinds = ", ".join(_ROLES[role])
        raise EngineError("bad_event", f"{where}.type {kind!r} does not fit role {role}; use one of {kinds}.", param=where)
    if kind == "input_image":
        if not images:
            raise EngineError("invalid_input_modality", "This engine takes no images.", param=where)
        return dict(part)
    field = "text" if kind in ("input_text", "output_text", "text") else "transcript"
    value = part.get(field)
    if kind == "input_audio":
        if not isinstance(part.get("audio", ""), str) or not (value is None or isinstance(value, str)):
            raise EngineError("bad_event", f"{where}.audio must be base64 and {where}.transcript a string.", param=where)
        if not part.get("audio") and not value:
            raise EngineError("bad_event", f"{where} has neither audio nor a transcript.", param=where)
        return dict(part)
    if not isinstance(value, str) or not value.strip():
        raise EngineError("bad_event", f"{where}.{field} must be a string that is not empty.", param=f"{where}.{field}")
    if len(value) > MAX_ITEM_TEXT:
        raise EngineError("bad_event", f"{where}.{field} is longer than {MAX_ITEM_TEXT} characters.", param=f"{where}.{field}")
    return {"type": kind, field: value}


class Conversation:
    """An ordered store of at most ``max_items`` items; the oldest fall out first."""

    def __init__(self, max_items: int = MAX_ITEMS, *, make_id: Callable[[str], str] = new_id) -> None:
        self.id = make_id("conv")
        self._max_items = max_items
        self._items: OrderedDict[str, JsonObject] = OrderedDict()
        self._marks: dict[str, list[Mark]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(list(self._items.values()))

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    @property
    def last_id(self) -> str | None:
        """The newest item's id."""
        return next(reversed(self._items), None)

    def add(self, item: JsonObject, previous_item_id: str | None = None) -> str | None:
        """Put an item at the end, after ``previous_item_id``, or first (``root``). Returns the id before it.

        Raises ``EngineError``: ``item_not_found`` for an unknown predecessor, ``bad_event`` for an id in use.
        """
        item_id = item["id"]
        if item_id in self._items:
            raise EngineError("bad_event", f"Item {item_id} is already in the conversation.", param="item.id")
        if previous_item_id is None or previous_item_id == self.last_id:
            before = self.last_id
            self._items[item_id] = item
        else:
            before = None if previous_item_id == "root" else previous_item_id
            self._insert(item, before)
        while len(self._items) > self._max_items:
            oldest, _ = self._items.popitem(last=False)
            self._marks.pop(oldest, None)
        return before

    def _insert(self, item: JsonObject, before: str | None) -> None:
        if before is not None:
            self.get(before)
        order = list(self._items)
        tail = order[0 if before is None else order.index(before) + 1 :]
        self._items[item["id"]] = item
        for item_id in tail:
            self._items.move_to_end(item_id)

    def previous(self, item_id: str) -> str | None:
        """The id before this item."""
        order = list(self._items)
        index = order.index(item_id)
        return order[index - 1] if index else None

    def get(self, item_id: str) -> JsonObject:
        """The item. Raises ``EngineError`` (``item_not_found``)."""
        item = self._items.get(item_id)
        if item is None:
            raise EngineError("item_not_found", f"There is no item {item_id} in this conversation.", param="item_id")
        return item

    def delete(self, item_id: str) -> None:
        """Remove the item. Raises ``EngineError`` (``item_not_found``)."""
        self.get(item_id)
        del self._items[item_id]
        self._marks.pop(item_id, None)

    def set_marks(self, item_id: str, marks: list[Mark]) -> None:
        """Remember when the words of a spoken item were said."""
        if item_id in self._items:
            self._marks[item_id] = marks

    def truncate(self, item_id: str, audio_end_ms: float, content_index: int = 0) -> str:
        """Cut a spoken assistant item to what was heard; returns what is left of its transcript.

        Raises ``EngineError``: ``item_not_found``, or ``bad_event`` when the item is not the assistant's or has no such part.
        """
        item = self.get(item_id)
        if item["role"] != "assistant":
            raise EngineError("bad_event", "Only the assistant's items can be truncated.", param="item_id")
        if not 0 <= content_index < len(item["content"]):
            raise EngineError("bad_event", f"Item {item_id} has no content part {content_index}.", param="content_index")
        if audio_end_ms < 0:
            raise EngineError("bad_event", "audio_end_ms must not be negative.", param="audio_end_ms")
        part = item["content"][content_index]
        if "transcript" not in part:
            return str(part.get("text", ""))
        marks = self._marks.get(item_id, [])
        if marks and audio_end_ms >= marks[-1].audio_end_ms:
            return str(part["transcript"])
        part["transcript"] = cut_text(part["transcript"] or "", marks, audio_end_ms)
        self._marks[item_id] = [mark for mark in marks if mark.audio_end_ms <= audio_end_ms]
        return str(part["transcript"])

    def drop_oldest(self, count: int) -> None:
        """Forget the first ``count`` items."""
        for item_id in list(self._items)[:count]:
            self.delete(item_id)
