"""Answers as OpenAI's API writes them. Speech comes with its words in ``audio.transcript``, and ``content`` is null then."""

import base64

from omnitalk.engines.chat import ChatDelta

from .answer import Answer, Json, usage_object
from .spoken import LIFE_S

__all__ = ["OpenAiShape"]


class OpenAiShape:
    """Stateless."""

    def whole(self, answer: Answer, sound: bytes) -> Json:
        """A ``chat.completion``."""
        message: Json = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.wanted.speaks:
            message["content"] = None
            message["audio"] = {
                "id": answer.audio_id,
                "data": base64.b64encode(sound).decode(),
                "expires_at": answer.created + LIFE_S,
                "transcript": answer.text,
            }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
        return {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage_object(answer.usage)}

    def opening(self, answer: Answer) -> list[Json]:
        """The role."""
        said: Json = {"audio": {"id": answer.audio_id, "transcript": ""}} if answer.wanted.speaks else {"content": ""}
        return [_chunk(answer, {"role": "assistant", "refusal": None, **said})]

    def piece(self, answer: Answer, delta: ChatDelta, sound: bytes) -> list[Json]:
        """Words as they are written, speech as it is spoken; which may be a while later."""
        chunks = []
        if delta.text:
            words: Json = {"audio": {"id": answer.audio_id, "transcript": delta.text}} if answer.wanted.speaks else {"content": delta.text}
            chunks.append(_chunk(answer, words))
        if sound:
            chunks.append(_chunk(answer, {"audio": {"id": answer.audio_id, "data": base64.b64encode(sound).decode()}}))
        return chunks

    def closing(self, answer: Answer) -> list[Json]:
        """The end, and the usage where it was asked for."""
        chunks = []
        if answer.wanted.speaks:
            chunks.append(_chunk(answer, {"audio": {"id": answer.audio_id, "expires_at": answer.created + LIFE_S}}))
        chunks.append(_chunk(answer, {}, answer.finish))
        if answer.wanted.usage_too:
            chunks.append({**_head(answer, "chat.completion.chunk"), "choices": [], "usage": usage_object(answer.usage)})
        return chunks


def _head(answer: Answer, kind: str) -> Json:
    return {"id": answer.id, "object": kind, "created": answer.created, "model": answer.wanted.model}


def _chunk(answer: Answer, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {**_head(answer, "chat.completion.chunk"), "choices": [choice]}
    return {**chunk, "usage": None} if answer.wanted.usage_too else chunk
