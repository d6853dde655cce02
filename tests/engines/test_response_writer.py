"""The response writer keeps the contract's order whatever happens."""

import pytest
from omnitalk.engines.conversation import Conversation, Mark
from omnitalk.engines.turns import ResponseWriter
from omnitalk.protocol import server
from omnitalk.protocol.base import ServerEvent


def writer(events: list[ServerEvent], conversation: Conversation | None, *, speaks: bool = True) -> ResponseWriter:
    """A writer into a list."""
    return ResponseWriter(events.append, response_id="resp_1", item_id="item_1", conversation=conversation, speaks=speaks)


def test_a_cancelled_response_keeps_only_heard_words() -> None:
    events: list[ServerEvent] = []
    conversation = Conversation()
    response = writer(events, conversation)
    response.begin()
    response.audio(b"\0\0", 500.0, "one", [Mark(3, 400.0)])
    response.audio(b"\0\0", 500.0, " two", [Mark(7, 900.0)])
    response.cut(600.0)
    response.finish("cancelled", reason="barge_in")
    done = events[-2]
    assert isinstance(done, server.ResponseDone)
    assert done.response["status_details"] == {"type": "cancelled", "reason": "barge_in"}
    assert done.response["output"][0]["content"] == [{"type": "output_audio", "transcript": "one"}]
    assert conversation.get("item_1")["status"] == "incomplete"
    assert isinstance(events[-1], server.RateLimitsUpdated)


def test_a_response_cancelled_before_its_first_sound_never_speaks() -> None:
    events: list[ServerEvent] = []
    response = writer(events, Conversation())
    response.begin()
    response.cut(0.0)
    response.finish("cancelled", reason="client_cancelled")
    names = [event.type for event in events]
    assert "response.speak" not in names
    assert names[-7:] == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
        "rate_limits.updated",
    ]


def test_outside_the_conversation_no_conversation_events() -> None:
    events: list[ServerEvent] = []
    response = writer(events, None, speaks=False)
    response.begin()
    response.text("hello")
    response.finish()
    assert not [event for event in events if event.type.startswith("conversation.")]


def test_nothing_is_written_before_the_beginning_or_after_the_end() -> None:
    response = writer([], Conversation())
    with pytest.raises(RuntimeError):
        response.speak()
    response.begin()
    response.finish()
    with pytest.raises(RuntimeError):
        response.finish()
    with pytest.raises(RuntimeError):
        response.speak()
    with pytest.raises(RuntimeError):
        response.audio(b"", 0.0, "", [])


def test_what_was_emitted_does_not_change_afterwards() -> None:
    events: list[ServerEvent] = []
    response = writer(events, Conversation())
    response.begin()
    added = events[1]
    assert isinstance(added, server.ConversationItemAdded)
    response.audio(b"\0\0", 10.0, "hi", [Mark(2, 10.0)])
    response.finish()
    assert added.item["status"] == "in_progress"
    assert added.item["content"] == []
