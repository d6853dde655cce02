"""What the language model reads: the system text, and as much of the conversation as fits.

History is append-only, so that the model's cache of it stays valid; near the limit the oldest whole turns go in one block.
"""

from omnitalk.engines.conversation import Conversation
from omnitalk.protocol.base import JsonObject

from .llm import ChatMessage, LlmUsage

__all__ = ["SYSTEM", "ContextBudget", "build", "content_of"]

SYSTEM = (
    "You are a helpful, friendly voice assistant. Your replies are spoken aloud on a phone call, "
    "so keep them to one or two short sentences without lists, markdown or code."
)

_GREET = "(The call has just begun. Greet the person.)"
_GO_ON = "Please go on."
_CHARS_PER_TOKEN = 3.5
_TURN_TOKENS = 6
"""What a chat template adds around a message."""

_FULL = 0.75
_AFTER_CUT = 0.5


def content_of(item: JsonObject) -> str:
    """An item's words: texts and transcripts, joined."""
    parts = (part.get("text") or part.get("transcript") or "" for part in item.get("content") or [])
    return " ".join(part for part in parts if part).strip()


def build(conversation: list[JsonObject], instructions: str | None) -> list[ChatMessage]:
    """Messages for the model; neighbours of the same role are joined, because small models know only alternation."""
    messages: list[ChatMessage] = [{"role": "system", "content": instructions or SYSTEM}]
    for item in conversation:
        text = content_of(item)
        if not text:
            continue
        if messages[-1]["role"] == item["role"]:
            messages[-1] = {"role": item["role"], "content": f"{messages[-1]['content']}\n{text}"}
        else:
            messages.append({"role": item["role"], "content": text})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": _GO_ON})
    elif len(messages) == 1:
        messages.append({"role": "user", "content": _GREET})
    return messages


class ContextBudget:
    """How full the context is, estimated from characters and set right by what the model counts.

    ``limit``: tokens of the context.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._scale = 1.0

    def tokens(self, text: str) -> int:
        """Estimated tokens of one message."""
        return round(self._scale * len(text) / _CHARS_PER_TOKEN) + _TURN_TOKENS

    def learn(self, messages: list[ChatMessage], reply: str, usage: LlmUsage) -> None:
        """Set the estimate right from one request."""
        counted = usage.prompt_tokens + usage.completion_tokens
        texts = [*(message["content"] for message in messages), reply]
        chars = sum(len(text) for text in texts)
        words = counted - _TURN_TOKENS * len(texts)
        if chars and words > 0:
            self._scale = min(4.0, max(0.5, words * _CHARS_PER_TOKEN / chars))

    def by_kind(self, conversation: Conversation, instructions: str | None) -> dict[str, int]:
        """Estimated tokens of the system text, of what the person said and of what was answered."""
        used = {"system": self.tokens(instructions or SYSTEM), "user": 0, "assistant": 0}
        for item in conversation:
            text = content_of(item)
            if text:
                used[item["role"]] = used.get(item["role"], 0) + self.tokens(text)
        return used

    def excess(self, conversation: Conversation, instructions: str | None, reserve: int) -> int:
        """How many of the oldest items must go before another reply of ``reserve`` tokens; whole turns, down to half the context."""
        used = sum(self.by_kind(conversation, instructions).values())
        if used + reserve <= max(self.limit * _FULL, reserve + 1):
            return 0
        items = list(conversation)
        target = min(self.limit * _AFTER_CUT, self.limit - reserve)
        count = 0
        # The newest turn stays: it is what must be answered (its answer may already have begun).
        while count < len(items) - 2 and (used > target or items[count]["role"] == "assistant"):
            text = content_of(items[count])
            used -= self.tokens(text) if text else 0
            count += 1
        return count
