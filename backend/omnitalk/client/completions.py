"""Asks ``POST …/chat/completions`` and reads the answer, in OpenAI's shape or vLLM-Omni's, whole or streamed."""

import base64
import io
import json
import wave
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import httpx

__all__ = ["Refused", "Said", "ask", "first_model"]

_TIMEOUT = httpx.Timeout(10.0, read=300.0)
_RATE = 24_000


class Refused(Exception):
    """The server's refusal, or that there is none to be reached, in a sentence."""


class Said(NamedTuple):
    """A piece of the answer: words, or PCM16 at 24 kHz; ``usage`` once."""

    text: str = ""
    pcm: bytes = b""
    usage: dict[str, Any] | None = None


def first_model(api_base: str, key: str) -> str:
    """The first model that the server lists. Raises ``Refused``."""
    try:
        answer = httpx.get(f"{api_base}/models", headers=_headers(key), timeout=_TIMEOUT)
        answer.raise_for_status()
        return str(answer.json()["data"][0]["id"])
    except httpx.HTTPError as problem:
        raise Refused(f"{api_base}/models: {problem}") from problem
    except (ValueError, LookupError, TypeError) as problem:
        raise Refused(f"{api_base}/models lists no model; name one with --model.") from problem


def ask(api_base: str, key: str, body: dict[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Said]:
    """The answer as it arrives. Raises ``Refused``."""
    url = f"{api_base}/chat/completions"
    try:
        with httpx.stream("POST", url, json=body, headers={**_headers(key), **(headers or {})}, timeout=_TIMEOUT) as answer:
            if answer.status_code != 200:
                answer.read()
                raise Refused(f"{answer.status_code}: {_reason(answer)}")
            if body.get("stream"):
                yield from _streamed(answer.iter_lines())
            else:
                answer.read()
                yield from _whole(answer.json())
    except httpx.HTTPError as problem:
        raise Refused(f"{url}: {problem}") from problem
    except (ValueError, LookupError, TypeError, AttributeError, wave.Error) as problem:
        raise Refused(f"The server's answer cannot be read: {problem}") from problem


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _reason(answer: httpx.Response) -> str:
    try:
        error = answer.json()["error"]
    except (ValueError, LookupError, TypeError):
        return answer.text[:500] or answer.reason_phrase
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _whole(answer: dict[str, Any]) -> Iterator[Said]:
    for choice in answer["choices"]:
        message = choice["message"]
        audio = message.get("audio") or {}
        yield Said(text=message.get("content") or audio.get("transcript") or "")
        if audio.get("data"):
            yield Said(pcm=_pcm(audio["data"]))
    yield Said(usage=answer.get("usage"))


def _streamed(lines: Iterator[str]) -> Iterator[Said]:
    for line in lines:
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data or data == "[DONE]":
            continue
        chunk = json.loads(data)
        if chunk.get("error"):
            error = chunk["error"]
            raise Refused(f"The answer broke off: {error.get('message', error) if isinstance(error, dict) else error}")
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            audio = delta.get("audio") or {}
            if chunk.get("modality") == "audio":
                yield Said(pcm=_pcm(delta.get("content") or ""))
            else:
                yield Said(text=delta.get("content") or audio.get("transcript") or "", pcm=_pcm(audio.get("data") or ""))
        if chunk.get("usage"):
            yield Said(usage=chunk["usage"])


def _pcm(text: str) -> bytes:
    """Samples of a WAV file, or of nothing but samples."""
    data = base64.b64decode(text)
    if data[:4] != b"RIFF":
        return data
    with wave.open(io.BytesIO(data)) as file:
        if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (_RATE, 1, 2):
            raise ValueError(f"speech of {file.getframerate()} Hz and {file.getnchannels()} channels, not of {_RATE} Hz and one")
        return bytes(file.readframes(file.getnframes()))
