"""Chat on the cascade: sound is recognised, the language model answers, and its clauses are spoken while the rest is written."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from io import BytesIO

import numpy as np

from omnitalk.engines.base import EngineError
from omnitalk.engines.chat import ChatDelta, ChatMessage, ChatPart, ChatRequest, ChatUsage
from omnitalk.media.audio import Resampler, Samples

from . import llm
from .aloud import Narrator
from .options import DEFAULT_MAX_TOKENS, MAX_TOKENS
from .prompt import SYSTEM
from .stages import Stages

__all__ = ["answer"]

_MAX_AUDIO_S = 300
_HEARD_RATE = 16_000
_NEUTRAL: tuple[object, ...] = (None, (), [], {}, "", False, 0, {"type": "text"})


async def answer(request: ChatRequest, stages: Stages, key: str, call_waits: Callable[[], bool]) -> AsyncGenerator[ChatDelta, None]:
    """The answer as it is made. ``call_waits``: whether a live call needs the model now, which ends the chat (``resource_exhausted``)."""
    _refuse_unsupported(request)
    messages = [await _read(message, stages, key) for message in request.messages]
    if messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    narrator = Narrator(stages, key)
    usage, finish = ChatUsage(), "stop"
    most = min(request.max_tokens or DEFAULT_MAX_TOKENS, MAX_TOKENS)
    seat = stages.llm.seat(key)
    try:
        stream = seat.stream(messages, max_tokens=most, temperature=request.temperature, stop=request.stop)
        async with aclosing(stream):
            async for chunk in stream:
                if call_waits():
                    raise EngineError("resource_exhausted", "A call needs the model; ask again.", kind="rate_limit_error", retryable=True)
                if chunk.usage is not None:
                    usage = ChatUsage(prompt_tokens=chunk.usage.prompt_tokens, completion_tokens=chunk.usage.completion_tokens)
                finish = chunk.finish_reason or finish
                if not chunk.text:
                    continue
                yield ChatDelta(text=chunk.text)
                if request.speaks:
                    async for sound in narrator.more(chunk.text):
                        yield ChatDelta(audio=sound)
    finally:
        seat.close()
    if request.speaks:
        async for sound in narrator.rest():
            yield ChatDelta(audio=sound)
    yield ChatDelta(finish="length" if finish == "length" else "stop", usage=usage)


def _refuse_unsupported(request: ChatRequest) -> None:
    if not request.messages:
        raise EngineError("invalid_value", "messages must hold at least one message.", param="messages")
    for part in (part for message in request.messages for part in message.parts):
        if part.kind in ("image", "video"):
            raise EngineError(
                "unsupported_content", f"This engine does not see; it takes text and audio, no {part.kind}.", param="messages"
            )
    # Values that change nothing are what many clients always send.
    asked = {"seed": request.seed, "top_p": None if request.top_p == 1 else request.top_p, **request.extra}
    for name, value in asked.items():
        if value not in _NEUTRAL:
            raise EngineError("unsupported_parameter", f"This engine has no {name!r}.", param=name)
    if request.voice is not None:
        raise EngineError("unsupported_parameter", "This engine has a fixed voice and takes no reference voice.", param="voice")


async def _read(message: ChatMessage, stages: Stages, key: str) -> llm.ChatMessage:
    words = [part.text if part.kind == "text" else await _heard(part, stages, key) for part in message.parts]
    return {"role": message.role, "content": "\n".join(word for word in words if word)}


async def _heard(part: ChatPart, stages: Stages, key: str) -> str:
    return (await stages.transcribe(key, await stages.asr_pool.run(key, lambda: _samples(part.data)))).transcript.text


def _samples(data: bytes) -> Samples:
    """A sound file (WAV, FLAC, MP3, Ogg) as 16 kHz mono. Raises ``EngineError`` when it is none, or too long."""
    import soundfile

    try:
        with soundfile.SoundFile(BytesIO(data)) as file:
            rate, most = int(file.samplerate), _MAX_AUDIO_S * int(file.samplerate)
            sound = file.read(most + 1, dtype="float32", always_2d=True).mean(axis=1)
    except soundfile.LibsndfileError as error:
        raise EngineError("bad_audio", f"This sound cannot be read as WAV, FLAC, MP3 or Ogg: {error}", param="messages") from error
    if sound.size > most:
        raise EngineError("audio_too_long", f"A sound may last at most {_MAX_AUDIO_S} seconds.", param="messages")
    return Resampler(rate, _HEARD_RATE).process(np.asarray(sound, np.float32), last=True)
