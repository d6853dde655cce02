"""The items of a conversation."""

from typing import Any

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.conversation import Conversation, Mark, cut_text, user_item, validate_item


def text(item_id: str) -> dict[str, Any]:
    """A user's text item."""
    return user_item(item_id, {"type": "input_text", "text": f"words of {item_id}"})


def spoken(item_id: str = "a") -> Conversation:
    """A conversation with one spoken item of three words."""
    conversation = Conversation()
    part = {"type": "output_audio", "transcript": "one two three"}
    conversation.add({"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    conversation.set_marks(item_id, [Mark(3, 300.0), Mark(7, 600.0), Mark(13, 1000.0)])
    return conversation


def test_items_go_where_they_are_put() -> None:
    conversation = Conversation()
    assert conversation.add(text("a")) is None
    assert conversation.add(text("c")) == "a"
    assert conversation.add(text("b"), "a") == "a"
    assert conversation.add(text("first"), "root") is None
    assert [item["id"] for item in conversation] == ["first", "a", "b", "c"]
    assert conversation.previous("b") == "a"
    assert conversation.previous("first") is None
    assert conversation.last_id == "c"


def test_unknown_and_repeated_ids_are_refused() -> None:
    conversation = Conversation()
    conversation.add(text("a"))
    for refused, code in (
        (lambda: conversation.add(text("a")), "bad_event"),
        (lambda: conversation.add(text("b"), "nowhere"), "item_not_found"),
        (lambda: conversation.get("nowhere"), "item_not_found"),
        (lambda: conversation.delete("nowhere"), "item_not_found"),
        (lambda: conversation.truncate("nowhere", 0), "item_not_found"),
        (lambda: conversation.truncate("a", 0), "bad_event"),
    ):
        with pytest.raises(EngineError) as error:
            refused()
        assert error.value.code == code
    assert len(conversation) == 1


def test_the_oldest_fall_out_beyond_the_bound() -> None:
    conversation = Conversation(max_items=3)
    for item_id in "abcde":
        conversation.add(text(item_id))
    assert [item["id"] for item in conversation] == ["c", "d", "e"]


@pytest.mark.parametrize(
    ("heard_ms", "left"),
    [(0, ""), (299, ""), (300, "one"), (650, "one two"), (999, "one two"), (1000, "one two three"), (9e9, "one two three")],
)
def test_a_spoken_item_is_cut_at_whole_words(heard_ms: float, left: str) -> None:
    conversation = spoken()
    assert conversation.truncate("a", heard_ms) == left
    assert conversation.get("a")["content"][0]["transcript"] == left
    # Cutting later than before brings nothing back.
    assert conversation.truncate("a", 5_000) == left


def test_text_without_marks_counts_as_unsaid() -> None:
    assert cut_text("one two", [], 1e9) == ""


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "message", "role": "user", "content": "hello"}, "item.content"),
        ({"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}, "item.content[0]"),
        ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": 7}]}, "item.content[0].text"),
        ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": " "}]}, "item.content[0].text"),
        ({"type": "message", "role": "user", "content": [7]}, "item.content[0]"),
        ({"type": "message", "role": "user", "content": [{"type": "input_image"}]}, "item.content[0]"),
        ({"type": "message", "role": "user", "content": [{"type": "input_audio"}]}, "item.content[0]"),
        ({"type": "message", "role": "nobody", "content": [{}]}, "item.role"),
        ({"type": "riddle"}, "item.type"),
        ({"type": "function_call_output", "call_id": "x", "output": ""}, "item.type"),
        ({"id": 5, "type": "message"}, "item.id"),
    ],
)
def test_a_bad_item_is_refused_with_its_field(item: dict[str, Any], param: str) -> None:
    with pytest.raises(EngineError) as refused:
        validate_item(item)
    assert refused.value.param == param


def test_an_item_without_an_id_gets_one() -> None:
    item = validate_item({"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be kind."}]})
    assert item["id"].startswith("item_")
    assert item["status"] == "completed"
