"""``POST /v1/audio/transcriptions``: what was said in a sound file."""

import asyncio
from contextlib import AsyncExitStack
from typing import Annotated, Literal, cast

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Meta

from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.sound import TranscribingEngine
from omnitalk.media.refusal import MediaRefused
from omnitalk.media.sounds import read_sound
from omnitalk.protocol.errors import ProtocolError

from . import origins
from .answering import answering
from .decoding import convert
from .event_stream import event
from .forms import read_form
from .names import check_model
from .presence import while_present
from .state import AppState, state_of

__all__ = ["TranscriptionForm", "router"]

router = APIRouter()

_RATE = 16_000
_MAX_S = 600.0


class TranscriptionForm(msgspec.Struct, frozen=True):
    """The fields beside ``file``. ``prompt`` and ``temperature`` change nothing here. There are no times of words or segments."""

    model: Annotated[str, Meta(max_length=512)] | None = None
    language: Annotated[str, Meta(max_length=16)] | None = None
    response_format: Literal["json", "text"] = "json"
    stream: Literal["true", "false", "True", "False"] = "false"
    prompt: str | None = None
    temperature: str | None = None


@router.options("/v1/audio/transcriptions", include_in_schema=False)
async def transcriptions_preflight(request: Request) -> Response:
    """A browser asks for another origin's page whether it may."""
    return origins.preflight(request, "POST, OPTIONS")


@router.post("/v1/audio/transcriptions")
@answering("multipart/form-data")
async def transcriptions(request: Request, held: AsyncExitStack) -> Response:
    """The words, as JSON, as plain text, or (``stream``) as events."""
    state = state_of(request)
    fields, files = await read_form(request, state.doors.body)
    return await while_present(request.receive, _answer(state, convert(dict(fields), TranscriptionForm), files.get("file")))


async def _answer(state: AppState, form: TranscriptionForm, data: bytes | None) -> Response:
    engine = _transcribing(state.hub.engine)
    engine.check_room()
    check_model(form.model, state.hub.engine.capabilities)
    if data is None:
        raise ProtocolError("missing_field", "The form has a field 'file' with the sound file.", param="file")
    try:
        async with state.doors.decoding:
            sound = await asyncio.to_thread(read_sound, data, _RATE, _MAX_S)
    except MediaRefused as refused:
        raise ProtocolError(refused.code, refused.message, param="file") from refused
    text = await engine.transcribe(sound, language=form.language)
    usage = {"type": "duration", "seconds": -(-sound.size // _RATE)}
    if form.stream.lower() == "true":
        delta = {"type": "transcript.text.delta", "delta": text}
        lines = event(delta) + event({"type": "transcript.text.done", "text": text, "usage": usage})
        return Response(lines, media_type="text/event-stream; charset=utf-8")
    if form.response_format == "text":
        return Response(text + "\n", media_type="text/plain; charset=utf-8")
    return Response(msgspec.json.encode({"text": text, "usage": usage}), media_type="application/json")


def _transcribing(engine: Engine) -> TranscribingEngine:
    if not engine.capabilities.transcription:
        name = engine.capabilities.name
        raise EngineError("unsupported_by_engine", f"The engine {name!r} hears in calls and chats, and writes nothing down.")
    return cast(TranscribingEngine, engine)
