"""The API's description (``/openapi.json``): FastAPI's, with the bodies that the doors read themselves and the refusals they give."""

from typing import Any

import msgspec
from fastapi import FastAPI

from omnitalk.media.encoders import MIME

from .completions.wire import CompletionBody
from .speech import SpeechBody
from .transcriptions import TranscriptionForm

__all__ = ["describe"]

_REF = "#/components/schemas/{name}"
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def describe(app: FastAPI) -> None:
    """Makes ``app.openapi`` give the whole truth."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(plain())
        return plain()

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(schema: dict[str, Any]) -> None:
    _, requests = msgspec.json.schema_components([CompletionBody, SpeechBody, TranscriptionForm], ref_template=_REF)
    form = requests["TranscriptionForm"]
    form["properties"]["file"] = {"type": "string", "format": "binary", "description": "WAV, FLAC, MP3, AAC, Ogg, M4A or WebM."}
    form["required"] = ["file"]
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    components |= requests | {"Error": _ERROR, "ChatCompletion": _COMPLETION, "Transcription": _TRANSCRIPTION}
    paths = schema["paths"]
    chat = paths["/v1/chat/completions"]["post"]
    chat["parameters"] = [
        {
            "name": "compat",
            "in": "query",
            "required": False,
            "description": "vllm-omni: the answer in vLLM-Omni's shape.",
            "schema": {"enum": ["openai", "vllm-omni"]},
        }
    ]
    _door(chat, "application/json", "CompletionBody", {"application/json": _ref("ChatCompletion"), "text/event-stream": _TEXT})
    sounds: dict[str, Any] = {kind: {"type": "string", "format": "binary"} for kind in sorted(set(MIME.values()))}
    _door(paths["/v1/audio/speech"]["post"], "application/json", "SpeechBody", {**sounds, "text/event-stream": _TEXT})
    heard = {"application/json": _ref("Transcription"), "text/plain": _TEXT, "text/event-stream": _TEXT}
    _door(paths["/v1/audio/transcriptions"]["post"], "multipart/form-data", "TranscriptionForm", heard)
    call = paths["/v1/realtime/calls"]["post"]
    offer = {"type": "object", "required": ["sdp"], "properties": {"sdp": _TEXT, "session": _TEXT, "resume": _TEXT}}
    call["requestBody"] = {
        "required": True,
        "content": {"application/sdp": {"schema": _TEXT}, "multipart/form-data": {"schema": offer}},
    }
    call["responses"] = {"201": {"description": "The SDP answer.", "content": {"application/sdp": {"schema": _TEXT}}}, **_refusals()}


def _door(operation: dict[str, Any], kind: str, body: str, answers: dict[str, Any]) -> None:
    operation["requestBody"] = {"required": True, "content": {kind: {"schema": _ref(body)}}}
    answered = {"description": "The answer.", "content": {each: {"schema": schema} for each, schema in answers.items()}}
    operation["responses"] = {"200": answered, **_refusals()}


def _refusals() -> dict[str, Any]:
    sentences = {
        "400": "Something in the request is wrong; param says where.",
        "403": "A page of another origin, which the host has not allowed.",
        "404": "No such model.",
        "408": "The body did not arrive in time.",
        "413": "The body, or a file, is too large.",
        "415": "Another content type is wanted.",
        "429": "Too much at once; come back after Retry-After.",
        "500": "The model failed.",
        "501": "This engine cannot do that.",
        "503": "The model is not ready; come back after Retry-After.",
    }
    content = {"application/json": {"schema": _ref("Error")}}
    return {status: {"description": sentence, "content": content} for status, sentence in sentences.items()}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_ERROR = _object({"error": _object({"message": _TEXT, "type": _TEXT, "param": _nullable(_TEXT), "code": _TEXT})})

_MESSAGE = _object(
    {"role": {"const": "assistant"}, "content": _nullable(_TEXT)},
    audio=_object({"id": _TEXT, "data": {"type": "string", "contentEncoding": "base64"}, "expires_at": _COUNT, "transcript": _TEXT}),
    refusal={"type": "null"},
)

_COMPLETION = _object(
    {
        "id": _TEXT,
        "object": {"const": "chat.completion"},
        "created": _COUNT,
        "model": _TEXT,
        "choices": {
            "type": "array",
            "items": _object({"index": _COUNT, "message": _MESSAGE, "finish_reason": {"enum": ["stop", "length"]}}),
        },
        "usage": _object({"prompt_tokens": _COUNT, "completion_tokens": _COUNT, "total_tokens": _COUNT}),
    }
)

_TRANSCRIPTION = _object({"text": _TEXT, "usage": _object({"type": {"const": "duration"}, "seconds": _COUNT})})
