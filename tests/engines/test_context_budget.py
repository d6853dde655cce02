"""What the model reads, and what it forgets when there is too much."""

from typing import Any

from omnitalk.engines.cascade.llm import LlmUsage
from omnitalk.engines.cascade.prompt import SYSTEM, ContextBudget, build
from omnitalk.engines.conversation import Conversation


def item(item_id: str, role: str, text: str) -> dict[str, Any]:
    """A text item of either side."""
    kind = "input_text" if role == "user" else "output_text"
    return {"id": item_id, "type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def talk(turns: int, words: int = 40) -> Conversation:
    """So many turns of so many words each side."""
    conversation = Conversation()
    for turn in range(turns):
        conversation.add(item(f"u{turn}", "user", "word " * words))
        conversation.add(item(f"a{turn}", "assistant", "word " * words))
    return conversation


def test_neighbours_of_one_side_become_one_message() -> None:
    messages = build([item("1", "user", "Stop."), item("2", "assistant", ""), item("3", "user", "Say hello.")], None)
    assert messages == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Stop.\nSay hello."}]


def test_the_model_always_has_something_of_the_person_to_answer() -> None:
    assert build([], "Be kind.")[-1]["role"] == "user"
    assert build([item("1", "user", "Hi."), item("2", "assistant", "Hello.")], None)[-1] == {"role": "user", "content": "Please go on."}


def test_nothing_is_forgotten_while_there_is_room() -> None:
    assert ContextBudget(4096).excess(talk(5), None, 200) == 0


def test_whole_turns_are_forgotten_in_one_block_down_to_half() -> None:
    budget, conversation = ContextBudget(1000), talk(12)
    count = budget.excess(conversation, None, 100)
    assert count > 0 and count % 2 == 0
    conversation.drop_oldest(count)
    assert next(iter(conversation))["role"] == "user"
    assert sum(budget.by_kind(conversation, None).values()) <= 500
    assert budget.excess(conversation, None, 100) == 0


def test_the_newest_turn_is_never_forgotten() -> None:
    conversation = talk(1, words=5_000)
    conversation.add(item("u", "user", "word " * 5_000))
    conversation.add(item("a", "assistant", ""))
    count = ContextBudget(1000).excess(conversation, None, 100)
    assert [found["id"] for found in list(conversation)[count:]] == ["u", "a"]


def test_the_estimate_learns_from_what_the_model_counts() -> None:
    budget = ContextBudget(4096)
    messages = build([item("1", "user", "word " * 200)], None)
    counted = LlmUsage(prompt_tokens=900, completion_tokens=30)
    budget.learn(messages, "word " * 20, counted)
    estimated = sum(budget.tokens(message["content"]) for message in messages) + budget.tokens("word " * 20)
    assert abs(estimated - 930) < 10
