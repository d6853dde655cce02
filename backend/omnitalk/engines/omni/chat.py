"""Chat on the weights that hold calls. Calls come first: a chat is only begun on a seat that no call needs.

vLLM-Omni has one pool of slots a stage and treats a chat's tokens like a call's units, so a burst of chats would make live
conversations late. Here at most ``seats - calls`` chats run, one at a time while anybody is on a call; the others wait in a short
line, and beyond it are told to come back.
"""

import asyncio
import base64
import contextlib
import io
import json
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from omnitalk.engines.base import EngineError
from omnitalk.engines.chat import ChatDelta, ChatMessage, ChatPart, ChatRequest, ChatUsage
from omnitalk.engines.pictures import check_picture

__all__ = ["ChatLine", "OmniChat", "messages_of"]

_LONGEST_LINE = 16


class ChatLine:
    """Who may chat now. ``calls`` says how many calls there are."""

    def __init__(self, seats: int, calls: Callable[[], int]) -> None:
        self._seats, self._calls = seats, calls
        self._running = 0
        self._waiting = 0
        self._moved = asyncio.Event()

    @property
    def figures(self) -> dict[str, float]:
        """For ``/metrics``."""
        return {"chats_running": float(self._running), "chats_waiting": float(self._waiting)}

    def moved(self) -> None:
        """A call has ended (or begun)."""
        self._moved.set()

    def _free(self) -> bool:
        calls = self._calls()
        room = self._seats - calls if calls == 0 else min(1, self._seats - calls)
        return self._running < room

    def check(self) -> None:
        """Raises ``EngineError`` (``resource_exhausted``) when too many wait."""
        if not self._free() and self._waiting >= _LONGEST_LINE:
            raise EngineError(
                "resource_exhausted", "Too many chat requests wait while calls need the model.", kind="rate_limit_error", retryable=True
            )

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place, when there is one. Raises ``EngineError`` (``resource_exhausted``) when too many wait."""
        self.check()
        self._waiting += 1
        try:
            while not self._free():
                self._moved.clear()
                await self._moved.wait()
            self._running += 1
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._running -= 1
            self.moved()


class OmniChat:
    """vLLM-Omni's own chat service, called in this process. Made once, when the engine is up."""

    def __init__(self, omni: Any, model: str, line: ChatLine) -> None:
        from vllm.entrypoints.openai.models.protocol import BaseModelPath
        from vllm.entrypoints.openai.models.serving import OpenAIServingModels
        from vllm.renderers.online_renderer import OnlineRenderer
        from vllm_omni.entrypoints.openai.serving_chat import OmniOpenAIServingChat

        self.line, self._model = line, model
        template = _template()
        shared: dict[str, Any] = {
            "request_logger": None,
            "chat_template": template,
            # Parts in the order given, with nothing put between them: an inserted line break changes how the model speaks.
            "chat_template_content_format": "openai",
            "trust_request_chat_template": False,
            "enable_auto_tools": False,
            "exclude_tools_when_tool_choice_none": False,
            "tool_parser": None,
            "reasoning_parser": "",
            "default_chat_template_kwargs": None,
        }
        models = OpenAIServingModels(engine_client=omni, base_model_paths=[BaseModelPath(name=model, model_path=model)], lora_modules=None)
        renderer = OnlineRenderer(model_config=omni.model_config, renderer=omni.renderer, **shared)
        self._service = OmniOpenAIServingChat(
            engine_client=omni,
            models=models,
            response_role="assistant",
            online_renderer=renderer,
            return_tokens_as_token_ids=False,
            enable_prompt_tokens_details=False,
            enable_force_include_usage=False,
            enable_log_outputs=False,
            enable_log_deltas=False,
            **shared,
        )

    async def answer(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See ``ChatEngine.chat``."""
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        try:
            wanted = ChatCompletionRequest(**self._body(request))
        except ValueError as problem:
            raise EngineError("invalid_request", f"The model does not take this request: {problem}") from problem
        for message in request.messages:
            for part in message.parts:
                if part.kind == "image":
                    await asyncio.to_thread(check_picture, part.data)
        async with self.line.place():
            with _refusals():
                answer = await self._service.create_chat_completion(wanted, None)
            if not hasattr(answer, "__aiter__"):
                raise _refusal(answer)
            stream = aiter(answer)
            try:
                async for line in stream:
                    for delta in _deltas(line):
                        yield delta
            finally:
                # Closing vLLM's generator aborts the request in every stage.
                close = getattr(stream, "aclose", None)
                if close is not None:
                    await close()

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages_of(request.messages),
            "modalities": ["text", "audio"] if request.speaks else ["text"],
            "stream": True,
            "stream_options": {"include_usage": True},
            "chat_template_kwargs": {"use_tts_template": request.speaks, "enable_thinking": False, **request.template},
            **request.extra,
        }
        optional = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "stop": list(request.stop) or None,
            "ref_audio": request.voice if request.speaks else None,
        }
        body.update({name: value for name, value in optional.items() if value is not None})
        return body


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """vLLM raises where its own server makes a 400 of it."""
    from vllm.exceptions import VLLMValidationError

    try:
        yield
    except (VLLMValidationError, ValueError, OSError) as problem:
        raise EngineError("invalid_request", f"The model does not take this request: {problem}") from problem


def messages_of(messages: tuple[ChatMessage, ...]) -> list[dict[str, Any]]:
    """Messages in the shape of the OpenAI API, media as data URLs."""
    return [{"role": message.role, "content": [_part(part) for part in message.parts]} for message in messages]


def _part(part: ChatPart) -> dict[str, Any]:
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    kind = f"{part.kind}_url"
    return {"type": kind, kind: {"url": f"data:{part.mime};base64,{base64.b64encode(part.data).decode()}"}}


def _template() -> str:
    import vllm_omni

    folder = Path(str(vllm_omni.__file__)).parent / "transformers_utils" / "chat_templates"
    return (folder / "minicpmo45_native.jinja").read_text()


def _deltas(line: str) -> list[ChatDelta]:
    """What one line of vLLM-Omni's stream says: text as it is, sound as WAV in ``content`` of chunks marked ``modality: audio``."""
    text = line.removeprefix("data: ").strip()
    if not text or text == "[DONE]":
        return []
    chunk = json.loads(text)
    if isinstance(chunk.get("error"), dict):
        raise EngineError("engine_error", str(chunk["error"].get("message") or "The model failed."), kind="server_error")
    found: list[ChatDelta] = []
    usage = _usage(chunk.get("usage"))
    for choice in chunk.get("choices") or []:
        content = (choice.get("delta") or {}).get("content") or ""
        finish: Literal["stop", "length"] | None = None
        if choice.get("finish_reason"):
            finish = "length" if choice["finish_reason"] == "length" else "stop"
        if chunk.get("modality") == "audio":
            found.append(ChatDelta(audio=_pcm(content), finish=finish, usage=usage))
        else:
            found.append(ChatDelta(text=content, finish=finish, usage=usage))
    if not found and usage is not None:
        found.append(ChatDelta(usage=usage))
    return [delta for delta in found if delta.text or delta.audio or delta.finish or delta.usage]


def _usage(raw: Any) -> ChatUsage | None:
    if not isinstance(raw, dict):
        return None
    return ChatUsage(prompt_tokens=int(raw.get("prompt_tokens") or 0), completion_tokens=int(raw.get("completion_tokens") or 0))


def _pcm(content: str) -> bytes:
    if not content:
        return b""
    with wave.open(io.BytesIO(base64.b64decode(content))) as file:
        return bytes(file.readframes(file.getnframes()))


def _refusal(answer: Any) -> EngineError:
    error = getattr(answer, "error", answer)
    message = str(getattr(error, "message", error))
    status = getattr(error, "code", 400)
    kind = "invalid_request_error" if isinstance(status, int) and status < 500 else "server_error"
    return EngineError("invalid_request" if kind == "invalid_request_error" else "engine_error", message, kind=kind)
