"""``POST /v1/audio/speech``: a text read aloud, sent as it is spoken."""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import Annotated, Literal, cast

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Meta

from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.sound import SpeakingEngine
from omnitalk.media.encoders import MIME, SpeechEncoder, SpeechFormat
from omnitalk.protocol.errors import ProtocolError

from . import origins
from .answering import answering
from .body import read_body
from .decoding import convert, decode_object
from .event_stream import ByteStream, event
from .names import check_model, check_voice
from .presence import while_present
from .problems import error_object
from .state import AppState, state_of

__all__ = ["SpeechBody", "router"]

router = APIRouter()

_MAX_CHARS = 4096


class SpeechBody(msgspec.Struct, frozen=True):
    """``POST /v1/audio/speech``. ``pcm`` is PCM16, 24 kHz, mono. ``instructions`` change nothing here: voices are what they are."""

    input: Annotated[str, Meta(min_length=1, max_length=_MAX_CHARS)]
    model: Annotated[str, Meta(max_length=512)] | None = None
    voice: Annotated[str, Meta(max_length=64)] | None = None
    response_format: Literal["mp3", "opus", "aac", "flac", "wav", "pcm"] = "mp3"
    speed: Annotated[float, Meta(ge=0.25, le=4)] = 1.0
    stream_format: Literal["audio", "sse"] = "audio"
    instructions: str | None = None


@router.options("/v1/audio/speech", include_in_schema=False)
async def speech_preflight(request: Request) -> Response:
    """A browser asks for another origin's page whether it may."""
    return origins.preflight(request, "POST, OPTIONS")


@router.post("/v1/audio/speech")
@answering("application/json")
async def speech(request: Request, held: AsyncExitStack) -> Response:
    """The text as a sound file, or (``stream_format`` sse) as events with pieces of one."""
    state = state_of(request)
    body = convert(decode_object(await read_body(request, state.doors.body)), SpeechBody)
    return await while_present(request.receive, _answer(state, body, held))


async def _answer(state: AppState, body: SpeechBody, held: AsyncExitStack) -> Response:
    capabilities = state.hub.engine.capabilities
    engine = _speaking(state.hub.engine)
    engine.check_room()
    check_model(body.model, capabilities)
    check_voice(body.voice, capabilities, "voice")
    if not any(letter.isalnum() for letter in body.input):
        raise ProtocolError("invalid_value", "input has no words to say.", param="input")
    sound = engine.speak(body.input, speed=body.speed)
    held.push_async_callback(_close, sound)
    # The first piece decides the status.
    first = await anext(sound, b"")
    form: SpeechFormat = "pcm16" if body.response_format == "pcm" else body.response_format
    if body.stream_format == "sse":
        return ByteStream(_events(form, first, sound), held.pop_all().aclose, media_type="text/event-stream; charset=utf-8")
    return ByteStream(_file(form, first, sound), held.pop_all().aclose, media_type=MIME[form])


def _speaking(engine: Engine) -> SpeakingEngine:
    if not engine.capabilities.speech:
        name = engine.capabilities.name
        raise EngineError("unsupported_by_engine", f"The engine {name!r} speaks in calls and chats, and does not read aloud.")
    return cast(SpeakingEngine, engine)


async def _close(sound: AsyncIterator[bytes]) -> None:
    if (close := getattr(sound, "aclose", None)) is not None:
        await close()


async def _file(form: SpeechFormat, first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Bytes of the file. An engine that fails half-way breaks the transfer off, so a client cannot take it for whole."""
    encoder = SpeechEncoder(form)
    if data := await asyncio.to_thread(encoder.feed, first):
        yield data
    async for piece in rest:
        if data := await asyncio.to_thread(encoder.feed, piece):
            yield data
    if data := await asyncio.to_thread(encoder.finish):
        yield data


async def _events(form: SpeechFormat, first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(_file(form, first, rest)) as pieces:
            async for piece in pieces:
                yield event({"type": "speech.audio.delta", "audio": base64.b64encode(piece).decode()})
    except (EngineError, ProtocolError) as problem:
        yield event(error_object(problem))
        return
    yield event({"type": "speech.audio.done"})
