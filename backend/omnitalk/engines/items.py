"""What the wire is told when a conversation's items are added, asked for, deleted or cut: the same for every engine."""

from collections.abc import Callable

from omnitalk.protocol import client, server
from omnitalk.protocol.base import JsonObject, ServerEvent

from .base import EngineError
from .conversation import Conversation

__all__ = ["Items"]


class Items:
    """``writing``: id of the item that a reply is writing now, or None. ``stop_writing`` ends that reply after so many ms."""

    def __init__(
        self,
        conversation: Conversation,
        emit: Callable[[ServerEvent], None],
        writing: Callable[[], str | None],
        stop_writing: Callable[[float], None],
    ) -> None:
        self._conversation, self._emit, self._writing, self._stop_writing = conversation, emit, writing, stop_writing

    def add(self, item: JsonObject, previous_item_id: str | None = None, *, committed: bool = False, transcript: str | None = None) -> None:
        """``committed``: it is the sound that was in the input buffer; ``transcript``: what was said in it, where that is told."""
        previous = self._conversation.add(item, previous_item_id)
        item_id = str(item["id"])
        self._emit(server.ConversationItemAdded(item=dict(item), previous_item_id=previous))
        self._emit(server.ConversationItemCreated(item=dict(item), previous_item_id=previous))
        if committed:
            self._emit(server.InputAudioBufferCommitted(item_id=item_id, previous_item_id=previous))
        if transcript is not None:
            self._emit(server.InputAudioTranscriptionDelta(item_id=item_id, delta=transcript))
            self._emit(server.InputAudioTranscriptionCompleted(item_id=item_id, transcript=transcript))
        self._emit(server.ConversationItemDone(item=dict(item), previous_item_id=previous))

    def retrieve(self, command: client.ConversationItemRetrieve) -> None:
        """Raises ``EngineError(item_not_found)``."""
        self._emit(server.ConversationItemRetrieved(item=dict(self._conversation.get(command.item_id))))

    def delete(self, command: client.ConversationItemDelete) -> None:
        """Raises ``EngineError``: item_not_found, or bad_event for the one that is being written."""
        if self._writing() == command.item_id:
            raise EngineError("bad_event", "This item is being written; cancel its response first.", param="item_id")
        self._conversation.delete(command.item_id)
        self._emit(server.ConversationItemDeleted(item_id=command.item_id))

    def truncate(self, command: client.ConversationItemTruncate) -> None:
        """Cuts an item to what was heard; the one that is being written ends there. Raises ``EngineError(item_not_found)``."""
        if self._writing() == command.item_id:
            self._stop_writing(float(command.audio_end_ms))
        self._conversation.truncate(command.item_id, command.audio_end_ms, command.content_index)
        told = server.ConversationItemTruncated(
            item_id=command.item_id, audio_end_ms=command.audio_end_ms, content_index=command.content_index
        )
        self._emit(told)
