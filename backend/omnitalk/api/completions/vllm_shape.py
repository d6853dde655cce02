"""Answers as vLLM-Omni's server writes them: chunks say their ``modality``, and speech is base64 in ``content``, each chunk a file."""

import base64

from omnitalk.engines.chat import ChatDelta

from .answer import Answer, Json, usage_object

__all__ = ["VllmShape"]

_RATE = 24_000
_DAY_S = 86_400


class VllmShape:
    """Stateless."""

    def whole(self, answer: Answer, sound: bytes) -> Json:
        """Words in ``content`` and speech in ``audio``, whose transcript stays empty."""
        wanted = answer.wanted
        message: Json = {"role": "assistant", "content": answer.text if wanted.writes else None, "refusal": None}
        choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
        if wanted.speaks:
            data = base64.b64encode(sound).decode()
            message["audio"] = {"id": answer.audio_id, "data": data, "expires_at": answer.created + _DAY_S, "transcript": ""}
            choice["audio_metadata"] = _metadata(answer, len(answer.pcm))
        return {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage_object(answer.usage)}

    def opening(self, answer: Answer) -> list[Json]:
        """The role."""
        return [_chunk(answer, "text" if answer.wanted.writes else "audio", {"role": "assistant", "content": ""})]

    def piece(self, answer: Answer, delta: ChatDelta, sound: bytes) -> list[Json]:
        """A chunk for each modality."""
        chunks = []
        if delta.text and answer.wanted.writes:
            chunks.append(_chunk(answer, "text", {"content": delta.text}))
        if sound:
            data = base64.b64encode(sound).decode()
            chunks.append(_chunk(answer, "audio", {"content": data}, metadata=_metadata(answer, len(delta.audio))))
        return chunks

    def closing(self, answer: Answer) -> list[Json]:
        """The end of the last modality, and the usage where it was asked for."""
        chunks = [_chunk(answer, "audio" if answer.wanted.speaks else "text", {"content": ""}, finish=answer.finish)]
        if answer.wanted.usage_too:
            chunks.append({**_head(answer, "chat.completion.chunk"), "choices": [], "usage": usage_object(answer.usage)})
        return chunks


def _metadata(answer: Answer, pcm_bytes: int) -> Json:
    return {"format": answer.wanted.form, "sample_rate_hz": _RATE, "frame_count": pcm_bytes // 2, "channels": 1}


def _head(answer: Answer, kind: str) -> Json:
    return {"id": answer.id, "object": kind, "created": answer.created, "model": answer.wanted.model}


def _chunk(answer: Answer, modality: str, delta: Json, *, metadata: Json | None = None, finish: str | None = None) -> Json:
    choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    if metadata is not None:
        choice["audio_metadata"] = metadata
    return {**_head(answer, "chat.completion.chunk"), "modality": modality, "choices": [choice], "usage": None}
