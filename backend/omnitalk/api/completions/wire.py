"""The request's JSON, as far as it is ours to read."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "FIELDS",
    "HARMLESS",
    "REFUSED",
    "AudioAsked",
    "CompletionBody",
    "ImagePart",
    "MediaUrl",
    "Message",
    "Part",
    "SoundPart",
    "SoundUrlPart",
    "TextPart",
    "VideoPart",
]

_Tag = Annotated[str, Meta(max_length=64)]


class MediaUrl(msgspec.Struct, frozen=True):
    """``data:``; ``http(s)://`` and ``file://`` where the server allows them."""

    url: str
    detail: _Tag | None = None


class InlineSound(msgspec.Struct, frozen=True):
    """``data``: base64 of a sound file (or of 24 kHz mono PCM16, with ``format`` pcm16)."""

    data: str
    format: _Tag = "wav"


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    """A picture: JPEG, PNG, WebP or GIF."""

    image_url: MediaUrl | str


class SoundPart(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio"):
    """A sound inside the request."""

    input_audio: InlineSound


class SoundUrlPart(msgspec.Struct, frozen=True, tag_field="type", tag="audio_url"):
    """A sound by its URL."""

    audio_url: MediaUrl | str


class VideoPart(msgspec.Struct, frozen=True, tag_field="type", tag="video_url"):
    """A film: MP4 or WebM."""

    video_url: MediaUrl | str


Part = TextPart | ImagePart | SoundPart | SoundUrlPart | VideoPart


class SpokenBefore(msgspec.Struct, frozen=True):
    """An earlier spoken answer, by the id it was given."""

    id: _Tag


class Message(msgspec.Struct, frozen=True):
    """``developer`` is read as ``system``."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[Part], Meta(max_length=256)] | None = None
    audio: SpokenBefore | None = None


class AudioAsked(msgspec.Struct, frozen=True):
    """How the speech is wanted. ``format`` None: wav, or pcm16 in a stream."""

    format: Literal["wav", "pcm16", "pcm", "flac", "mp3", "opus", "aac"] | None = None
    voice: _Tag | None = None


class StreamOptions(msgspec.Struct, frozen=True):
    """``include_usage``: a last chunk with the usage."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class CompletionBody(msgspec.Struct, frozen=True):
    """``POST /v1/chat/completions``. Fields that are not named here are handed to the engine, which may refuse them."""

    messages: Annotated[list[Message], Meta(min_length=1, max_length=512)]
    model: Annotated[str, Meta(max_length=512)] | None = None
    modalities: Annotated[list[Literal["text", "audio"]], Meta(min_length=1, max_length=2)] | None = None
    audio: AudioAsked | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: Annotated[str, Meta(max_length=256)] | Annotated[list[Annotated[str, Meta(max_length=256)]], Meta(max_length=16)] | None = None
    n: Annotated[int, Meta(ge=1, le=1)] | None = None
    chat_template_kwargs: dict[str, bool] | None = None
    ref_audio: str | None = None


FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(CompletionBody))

HARMLESS = frozenset(
    {
        "metadata",
        "moderation",
        "parallel_tool_calls",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning_effort",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
        "verbosity",
    }
)
"""OpenAI's fields that change nothing here: about accounts, stores and other models."""

REFUSED = {
    "chat_template": "The server's own chat template is used.",
    "functions": "No tools are called here.",
    "kv_transfer_params": "Clients do not steer the server's caches.",
    "media_io_kwargs": "How media are decoded is the server's business.",
    "priority": "Calls come first, and chats in the order they arrive.",
    "prompt_embeds": "Messages are text and media.",
    "request_id": "The server numbers its requests.",
    "tools": "No tools are called here.",
    "web_search_options": "Nothing is searched here.",
}
"""Fields that would be ignored at a client's expense, or obeyed at everybody else's. Empty values are let through."""
