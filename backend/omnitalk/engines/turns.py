"""Writes one response onto the wire vocabulary, whole and in the contract's order, whatever makes the words."""

from collections.abc import Callable
from typing import Literal

from omnitalk.protocol import server
from omnitalk.protocol.base import UNSET, JsonObject, ServerEvent

from .conversation import Conversation, Mark, cut_text

__all__ = ["ResponseWriter", "Status"]

Status = Literal["completed", "cancelled", "failed", "incomplete"]


class ResponseWriter:
    """One response with one message item with one content part.

    Call ``begin``, then ``audio`` or ``text`` any number of times, then ``finish`` once. ``speak`` is written before the first delta.
    ``emit`` takes each event. ``conversation`` None keeps the response out of the history (``conversation: "none"``).
    ``speaks`` False makes a text response. ``encoding`` and ``rate`` describe the bytes given to ``audio``.
    """

    def __init__(
        self,
        emit: Callable[[ServerEvent], None],
        *,
        response_id: str,
        item_id: str,
        conversation: Conversation | None,
        speaks: bool = True,
        encoding: str = "pcm16",
        rate: int = 24_000,
        metadata: JsonObject | None = None,
        max_output_tokens: int | None = None,
    ) -> None:
        self.response_id, self.item_id = response_id, item_id
        self.text_so_far = ""
        self.audio_ms = 0.0
        self.marks: list[Mark] = []
        self.begun = self.spoke = self.ended = False
        self._emit, self._conversation = emit, conversation
        self._speaks, self._encoding, self._rate = speaks, encoding, rate
        self._metadata, self._max_output_tokens = metadata, max_output_tokens
        self._previous: str | None = None
        self._item: JsonObject = {
            "id": item_id,
            "object": "realtime.item",
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        }

    def _response(self, status: str, details: JsonObject | None = None, usage: JsonObject | None = None) -> JsonObject:
        return {
            "object": "realtime.response",
            "id": self.response_id,
            "status": status,
            "status_details": details,
            "output": [dict(self._item)] if self.ended else [],
            "conversation_id": self._conversation.id if self._conversation is not None else None,
            "output_modalities": ["audio" if self._speaks else "text"],
            "max_output_tokens": self._max_output_tokens if self._max_output_tokens is not None else "inf",
            "metadata": self._metadata,
            "usage": usage,
        }

    def _part(self) -> JsonObject:
        if self._speaks:
            return {"type": "output_audio", "transcript": self.text_so_far}
        return {"type": "output_text", "text": self.text_so_far}

    def begin(self) -> None:
        """Announce the response, its item and its part."""
        self.begun = True
        self._emit(server.ResponseCreated(response_id=self.response_id, response=self._response("in_progress")))
        if self._conversation is not None:
            self._previous = self._conversation.add(self._item)
            self._emit(server.ConversationItemAdded(item=dict(self._item), previous_item_id=self._previous))
            self._emit(server.ConversationItemCreated(item=dict(self._item), previous_item_id=self._previous))
        self._emit(server.ResponseOutputItemAdded(response_id=self.response_id, item=dict(self._item)))
        self._emit(server.ResponseContentPartAdded(response_id=self.response_id, item_id=self.item_id, part=self._part()))

    def speak(self, metadata: JsonObject | None = None) -> None:
        """The model decided to speak; later calls do nothing."""
        if self.spoke:
            return
        self._check_open()
        self.spoke = True
        self._emit(server.ResponseSpeak(response_id=self.response_id, item_id=self.item_id, metadata=metadata or {}))

    def audio(self, data: bytes, duration_ms: float, words: str, marks: list[Mark], metadata: JsonObject | None = None) -> None:
        """A piece of speech with the words that are said in it.

        ``marks`` are cumulative for the response (text characters so far, ms of sound so far).
        """
        self.speak()
        self._check_open()
        self.audio_ms += duration_ms
        self.text_so_far += words
        self.marks.extend(marks)
        details: JsonObject = {
            "audio_duration_ms": round(self.audio_ms, 3),
            "audio_text_marks": [{"text_chars": mark.text_chars, "audio_end_ms": round(mark.audio_end_ms, 3)} for mark in marks],
            **(metadata or {}),
        }
        self._emit(
            server.ResponseOutputAudioDelta(
                response_id=self.response_id,
                item_id=self.item_id,
                delta=data,
                format=self._encoding,
                sample_rate_hz=self._rate,
                metadata=details,
            )
        )
        self._emit(
            server.ResponseOutputAudioTranscriptDelta(response_id=self.response_id, item_id=self.item_id, delta=words, metadata=UNSET)
        )

    def text(self, delta: str) -> None:
        """More of a text response."""
        self.speak()
        self._check_open()
        self.text_so_far += delta
        self._emit(server.ResponseOutputTextDelta(response_id=self.response_id, item_id=self.item_id, delta=delta))

    def cut(self, heard_ms: float) -> None:
        """Keep only the words that were said within ``heard_ms``; text responses are kept whole."""
        if self._speaks:
            self.text_so_far = cut_text(self.text_so_far, self.marks, heard_ms)
            self.marks = [mark for mark in self.marks if mark.audio_end_ms <= heard_ms]

    def finish(
        self,
        status: Status = "completed",
        *,
        reason: str | None = None,
        error: JsonObject | None = None,
        usage: JsonObject | None = None,
    ) -> None:
        """Close the part, the item and the response, in that order. ``reason``: why it was cancelled or is incomplete."""
        self._check_open()
        self.ended = True
        response_id, item_id = self.response_id, self.item_id
        self._item["status"] = "completed" if status == "completed" else "incomplete"
        self._item["content"] = [self._part()]
        if self._conversation is not None:
            self._conversation.set_marks(self.item_id, self.marks)
        if self._speaks:
            self._emit(server.ResponseOutputAudioDone(response_id=response_id, item_id=item_id))
            self._emit(server.ResponseOutputAudioTranscriptDone(response_id=response_id, item_id=item_id, transcript=self.text_so_far))
        else:
            self._emit(server.ResponseOutputTextDone(response_id=response_id, item_id=item_id, text=self.text_so_far))
        self._emit(server.ResponseContentPartDone(response_id=response_id, item_id=item_id, part=self._part()))
        self._emit(server.ResponseOutputItemDone(response_id=self.response_id, item=dict(self._item)))
        if self._conversation is not None:
            self._emit(server.ConversationItemDone(item=dict(self._item), previous_item_id=self._previous))
        details: JsonObject | None = None
        if status != "completed":
            details = {"type": status, "reason": reason}
            if error is not None:
                details["error"] = error
        self._emit(server.ResponseDone(response_id=self.response_id, response=self._response(status, details, usage)))
        self._emit(server.RateLimitsUpdated())

    def _check_open(self) -> None:
        if self.ended or not self.begun:
            raise RuntimeError(f"response {self.response_id} is not open")
