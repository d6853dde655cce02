"""``POST /v1/chat/completions``, in OpenAI's shape; ``?compat=vllm-omni`` (or the header ``X-Compat``) answers in vLLM-Omni's."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import cast

import msgspec
import structlog
from fastapi import APIRouter, Request, Response

from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.chat import ChatDelta, ChatEngine, ChatRequest
from omnitalk.media.encoders import encode_speech
from omnitalk.protocol.errors import ProtocolError

from . import origins
from .answering import answering
from .body import read_body
from .completions.answer import Answer, Shape
from .completions.openai_shape import OpenAiShape
from .completions.reading import Wanted
from .completions.vllm_shape import VllmShape
from .event_stream import ByteStream, event
from .presence import while_present
from .problems import error_object
from .state import AppState, state_of

__all__ = ["router"]

log = structlog.get_logger("omnitalk.chat")

router = APIRouter()

_COMPAT = "vllm-omni"


@router.options("/v1/chat/completions", include_in_schema=False)
async def preflight(request: Request) -> Response:
    """A browser asks for another origin's page whether it may."""
    return origins.preflight(request, "POST, OPTIONS")


@router.post("/v1/chat/completions")
@answering("application/json")
async def chat_completions(request: Request, held: AsyncExitStack) -> Response:
    """One answer to a list of messages, as text or as text with 24 kHz speech, whole or streamed."""
    state = state_of(request)
    body = await read_body(request, state.doors.body)
    return await while_present(request.receive, _answer(state, request, body, held))


async def _answer(state: AppState, request: Request, body: bytes, held: AsyncExitStack) -> Response:
    capabilities = state.hub.engine.capabilities
    engine = _chat_engine(state.hub.engine)
    engine.check_room()
    asked, wanted = await state.doors.reader.read(body, capabilities, vllm=_compat(request))
    shape: Shape = VllmShape() if wanted.vllm else OpenAiShape()
    answer = Answer(wanted)
    deltas = await held.enter_async_context(aclosing(_started(engine, asked)))
    if not wanted.streams:
        return await _whole(state, answer, shape, deltas)
    # The first piece decides the status: a refusal after this point could only be told inside a 200.
    first = await anext(deltas, None)
    lines = _lines(state, answer, shape, first, deltas)
    return ByteStream(lines, held.pop_all().aclose, media_type="text/event-stream; charset=utf-8")


def _chat_engine(engine: Engine) -> ChatEngine:
    if not engine.capabilities.chat:
        raise EngineError("unsupported_by_engine", f"The engine {engine.capabilities.name!r} holds calls and does not answer chat.")
    return cast(ChatEngine, engine)


async def _started(engine: ChatEngine, asked: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
    """The engine's deltas; what it fails with becomes a refusal that tells nothing of its insides."""
    deltas = engine.chat(asked)
    try:
        async for delta in deltas:
            yield delta
    except (EngineError, asyncio.CancelledError, GeneratorExit):
        raise
    except Exception as problem:
        log.exception("chat_failed")
        raise EngineError("internal_error", "The model failed to answer; the server's log says why.", kind="server_error") from problem
    finally:
        if (close := getattr(deltas, "aclose", None)) is not None:
            await close()


async def _whole(state: AppState, answer: Answer, shape: Shape, deltas: AsyncIterator[ChatDelta]) -> Response:
    async for delta in deltas:
        answer.take(delta, keep_sound=True)
    _check(answer)
    sound = await _encoded(answer.wanted, bytes(answer.pcm))
    _remember(state, answer)
    return Response(msgspec.json.encode(shape.whole(answer, sound)), media_type="application/json")


async def _lines(
    state: AppState, answer: Answer, shape: Shape, first: ChatDelta | None, deltas: AsyncIterator[ChatDelta]
) -> AsyncGenerator[bytes, None]:
    """Server-sent events. An engine that fails half-way is told as an error event, and the stream ends without ``[DONE]``."""
    try:
        for chunk in shape.opening(answer):
            yield event(chunk)
        async for delta in _chain(first, deltas):
            answer.take(delta, keep_sound=False)
            sound = await _encoded(answer.wanted, delta.audio) if delta.audio else b""
            for chunk in shape.piece(answer, delta, sound):
                yield event(chunk)
        _check(answer)
    except (EngineError, ProtocolError) as problem:
        yield event(error_object(problem))
        return
    _remember(state, answer)
    for chunk in shape.closing(answer):
        yield event(chunk)
    yield b"data: [DONE]\n\n"


async def _chain(first: ChatDelta | None, rest: AsyncIterator[ChatDelta]) -> AsyncIterator[ChatDelta]:
    if first is not None:
        yield first
    async for delta in rest:
        yield delta


async def _encoded(wanted: Wanted, pcm: bytes) -> bytes:
    if not wanted.speaks or wanted.form == "pcm16":
        return pcm
    return await asyncio.to_thread(encode_speech, pcm, wanted.form)


def _check(answer: Answer) -> None:
    if answer.mute:
        raise EngineError("no_audio_produced", "The model wrote an answer and did not speak it.", kind="server_error")


def _remember(state: AppState, answer: Answer) -> None:
    if answer.wanted.speaks:
        state.doors.spoken.keep(answer.audio_id, answer.text)


def _compat(request: Request) -> bool:
    asked = request.query_params.get("compat") or request.headers.get("x-compat")
    if asked not in (None, "", "openai", _COMPAT):
        raise ProtocolError("invalid_value", f"compat is {_COMPAT!r} or 'openai', not {asked[:40]!r}.", param="compat")
    return asked == _COMPAT
