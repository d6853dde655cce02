"""A request's body to what the engine is asked (``ChatRequest``) and how the answer is wanted (``Wanted``)."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import msgspec

from omnitalk.api.decoding import convert, decode_object
from omnitalk.api.names import check_model, check_voice
from omnitalk.engines.base import Capabilities
from omnitalk.engines.chat import ChatMessage, ChatPart, ChatRequest
from omnitalk.media.audio import encode
from omnitalk.media.data_url import from_base64
from omnitalk.media.encoders import SpeechFormat, encode_speech
from omnitalk.media.films import check_film
from omnitalk.media.pictures import read_picture
from omnitalk.media.refusal import MediaRefused
from omnitalk.media.sounds import read_sound
from omnitalk.media.source import MediaSource
from omnitalk.protocol.errors import ProtocolError

from . import wire
from .spoken import SpokenAnswers

__all__ = ["Limits", "Reader", "Wanted"]

P = ParamSpec("P")
T = TypeVar("T")

_RATE = 16_000
"""What every engine hears at; sounds reach it as mono WAV of this rate, whatever was sent."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Of one request: bytes of a file, files of a kind, seconds of all its sounds and of a film, pixels of all its pictures,
    seconds that fetching and decoding may take.
    """

    file_bytes: int = 24 * 1024 * 1024
    parts: int = 256
    images: int = 64
    sounds: int = 64
    films: int = 1
    sound_s: float = 300.0
    film_s: float = 600.0
    voice_s: float = 30.0
    pixels: int = 100_000_000
    load_s: float = 90.0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How the answer is to look. ``vllm``: in vLLM-Omni's dialect."""

    model: str
    writes: bool
    speaks: bool
    form: SpeechFormat
    streams: bool
    usage_too: bool
    vllm: bool


@dataclass
class _Spent:
    """What a request has used of its limits."""

    kinds: dict[str, int] = field(default_factory=dict)
    sound_s: float = 0.0
    pixels: int = 0


class Reader:
    """Reads requests for one server. ``decoding``: held while a file is decoded."""

    def __init__(self, source: MediaSource, spoken: SpokenAnswers, decoding: asyncio.Semaphore, limits: Limits | None = None) -> None:
        self._source, self._spoken, self._decoding, self._limits = source, spoken, decoding, limits or Limits()

    async def read(self, data: bytes, capabilities: Capabilities, *, vllm: bool) -> tuple[ChatRequest, Wanted]:
        """Raises ``ProtocolError`` with the path of the field that is wrong, in ``param``."""
        raw = decode_object(data)
        extra = _extra(raw)
        body = convert(raw, wire.CompletionBody)
        model = check_model(body.model, capabilities)
        # Without a word about it OpenAI's answers are text, and vLLM-Omni's are all that the model can make.
        speaks = "audio" in body.modalities if body.modalities else vllm or body.audio is not None
        streams = bool(body.stream)
        if body.audio is not None:
            check_voice(body.audio.voice, capabilities, "audio.voice")
        wanted = Wanted(
            model=model,
            writes=not (vllm and body.modalities and "text" not in body.modalities),
            speaks=speaks,
            form=_form(body.audio, streams=streams, vllm=vllm),
            streams=streams,
            usage_too=bool(body.stream_options and body.stream_options.include_usage),
            vllm=vllm,
        )
        _check_sight(body, capabilities)
        spent = _Spent()
        try:
            async with asyncio.timeout(self._limits.load_s):
                messages = tuple([await self._message(each, f"messages[{index}]", spent) for index, each in enumerate(body.messages)])
                voice = None if body.ref_audio is None else await self._voice(body.ref_audio)
        except TimeoutError:
            sentence = f"The media of this request did not arrive within {self._limits.load_s:g} s; send fewer, or send them inside it."
            raise ProtocolError("media_unreachable", sentence, param="messages") from None
        request = ChatRequest(
            messages=messages,
            speaks=speaks,
            voice=voice,
            max_tokens=body.max_completion_tokens or body.max_tokens,
            temperature=body.temperature,
            top_p=body.top_p,
            seed=body.seed,
            stop=() if body.stop is None else (body.stop,) if isinstance(body.stop, str) else tuple(body.stop),
            template=body.chat_template_kwargs or {},
            extra=extra,
        )
        return request, wanted

    async def _message(self, message: wire.Message, path: str, spent: _Spent) -> ChatMessage:
        role = "system" if message.role == "developer" else message.role
        content = message.content
        if message.audio is not None:
            if role != "assistant":
                raise ProtocolError("invalid_value", "Only an assistant's message refers to speech by its id.", param=f"{path}.audio")
            if not content:
                content = self._spoken.transcript(message.audio.id, f"{path}.audio.id")
        if content is None and role != "assistant":
            raise ProtocolError("invalid_value", "A message has content: a string, or a list of parts.", param=f"{path}.content")
        if not isinstance(content, list):
            return ChatMessage(role=role, parts=(ChatPart(kind="text", text=content),) if content else ())
        self._count(spent, "parts", len(content), f"{path}.content")
        return ChatMessage(role=role, parts=tuple([await self._part(p, f"{path}.content[{i}]", spent) for i, p in enumerate(content)]))

    async def _part(self, part: wire.Part, path: str, spent: _Spent) -> ChatPart:
        try:
            match part:
                case wire.TextPart():
                    return ChatPart(kind="text", text=part.text)
                case wire.ImagePart():
                    path += ".image_url"
                    self._count(spent, "images", 1, path)
                    data, mime, pixels = await self._decoded(read_picture, await self._load(part.image_url))
                    spent.pixels += pixels
                    if spent.pixels > self._limits.pixels:
                        raise MediaRefused("media_too_large", "The pictures of a request have too many pixels together; send smaller ones.")
                    return ChatPart(kind="image", data=data, mime=mime)
                case wire.VideoPart():
                    path += ".video_url"
                    self._count(spent, "films", 1, path)
                    data = await self._load(part.video_url)
                    return ChatPart(kind="video", data=data, mime=await self._decoded(check_film, data, self._limits.film_s))
                case wire.SoundUrlPart():
                    path += ".audio_url"
                    self._count(spent, "sounds", 1, path)
                    return await self._sound(await self._load(part.audio_url), spent)
                case wire.SoundPart():
                    path += ".input_audio"
                    self._count(spent, "sounds", 1, path)
                    data = await asyncio.to_thread(from_base64, part.input_audio.data, self._limits.file_bytes)
                    if part.input_audio.format in ("pcm16", "pcm"):
                        data = _wav_of_pcm(data)
                    return await self._sound(data, spent)
        except MediaRefused as refused:
            raise ProtocolError(refused.code, refused.message, param=path) from refused

    async def _load(self, where: wire.MediaUrl | str) -> bytes:
        return await self._source.load(where if isinstance(where, str) else where.url, self._limits.file_bytes)

    async def _sound(self, data: bytes, spent: _Spent) -> ChatPart:
        wav, seconds = await self._decoded(_as_wav, data, self._limits.sound_s)
        spent.sound_s += seconds
        if spent.sound_s > self._limits.sound_s:
            raise MediaRefused("audio_too_long", f"The sounds of a request may last {self._limits.sound_s:g} seconds together.")
        return ChatPart(kind="audio", data=wav, mime="audio/wav")

    async def _voice(self, url: str) -> str:
        try:
            wav, _ = await self._decoded(_as_wav, await self._source.load(url, self._limits.file_bytes), self._limits.voice_s)
        except MediaRefused as refused:
            raise ProtocolError(refused.code, refused.message, param="ref_audio") from refused
        return f"data:audio/wav;base64,{base64.b64encode(wav).decode()}"

    async def _decoded(self, decode: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        async with self._decoding:
            return await asyncio.to_thread(decode, *arguments, **options)

    def _count(self, spent: _Spent, kind: str, count: int, path: str) -> None:
        spent.kinds[kind] = spent.kinds.get(kind, 0) + count
        most = int(getattr(self._limits, kind))
        if spent.kinds[kind] > most:
            raise ProtocolError("too_many_parts", f"A request has at most {most} {kind}.", param=path)


def _as_wav(data: bytes, most_s: float) -> tuple[bytes, float]:
    sound = read_sound(data, _RATE, most_s)
    return encode_speech(encode(sound, "pcm16"), "wav", _RATE), sound.size / _RATE


def _wav_of_pcm(data: bytes) -> bytes:
    if len(data) % 2:
        raise MediaRefused("bad_audio", f"{len(data)} bytes are not a whole number of PCM16 samples (2 bytes each).")
    return encode_speech(data, "wav")


def _extra(raw: dict[str, object]) -> dict[str, object]:
    for name, why in wire.REFUSED.items():
        if raw.get(name):
            raise ProtocolError("unsupported_parameter", f"{name} is not taken. {why}", param=name)
    known = wire.FIELDS | wire.HARMLESS | wire.REFUSED.keys()
    return {name: value for name, value in raw.items() if name not in known and value is not None}


def _check_sight(body: wire.CompletionBody, capabilities: Capabilities) -> None:
    """Before anything is fetched or decoded for an engine that cannot look at it. Raises ``ProtocolError``."""
    if capabilities.sees:
        return
    for number, message in enumerate(body.messages):
        for index, part in enumerate(message.content if isinstance(message.content, list) else ()):
            if isinstance(part, wire.ImagePart | wire.VideoPart):
                kind = "image_url" if isinstance(part, wire.ImagePart) else "video_url"
                sentence = "This engine does not see; it takes text and audio."
                raise ProtocolError("unsupported_content", sentence, param=f"messages[{number}].content[{index}].{kind}")


def _form(asked: wire.AudioAsked | None, *, streams: bool, vllm: bool) -> SpeechFormat:
    form = asked.format if asked is not None else None
    if form == "pcm":
        form = "pcm16"
    if form is None:
        return "pcm16" if streams and not vllm else "wav"
    if streams and not vllm and form != "pcm16":
        raise ProtocolError("unsupported_parameter", f"A stream carries speech as pcm16, not as {form}.", param="audio.format")
    return form
