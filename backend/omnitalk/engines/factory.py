"""Chooses the engine that a server runs, without loading anything of the others."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol

from .base import Engine, EngineError

__all__ = ["EngineSettings", "make_engine"]

_log = logging.getLogger(__name__)

_LOCAL = ("onnxruntime", "ctranslate2", "tokenizers", "xllamacpp", "hibari", "soundfile")


class EngineSettings(Protocol):
    """What the factory reads of the server's settings."""

    @property
    def engine(self) -> str: ...
    @property
    def for_measuring(self) -> bool: ...
    @property
    def scripted_mode(self) -> Literal["turn", "minicpm", "qwen3"]: ...
    @property
    def max_calls(self) -> int | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def deploy_config(self) -> str | None: ...
    @property
    def stage_overrides(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def voice(self) -> Path | None: ...
    @property
    def profile(self) -> str | None: ...
    @property
    def ws_backend(self) -> Sequence[str]: ...
    @property
    def llm_base_url(self) -> str | None: ...
    @property
    def llm_sees(self) -> bool: ...
    @property
    def llm_model(self) -> str | None: ...
    @property
    def llm_api_key_env(self) -> str: ...


def make_engine(settings: EngineSettings) -> Engine:
    """The engine, not started. Raises ``EngineError`` with a sentence when it cannot be had here."""
    match settings.engine:
        case "auto":
            return _auto(settings)
        case "cascade":
            return _cascade(settings)
        case "omni":
            return _omni(settings)
        case "remote":
            from .remote import RemoteEngine, RemoteOptions

            return RemoteEngine(
                RemoteOptions(
                    backends=tuple(settings.ws_backend),
                    model=settings.model or "",
                    max_sessions=settings.max_calls,
                    voice=settings.voice,
                    profile=settings.profile,
                )
            )
        case "scripted":
            return _scripted(settings)
        case "echo":
            if not settings.for_measuring:
                raise _refusal("The echo engine says back what it hears and is for measuring only: add --for-measuring if you mean it.")
            from .echo import EchoEngine

            return EchoEngine()
        case _:
            raise _refusal(f"There is no engine {settings.engine!r}; use auto, cascade, omni, remote or scripted.")


def _auto(settings: EngineSettings) -> Engine:
    """The omni engine where it can run, else the cascade; says which, and why."""
    try:
        engine = _omni(settings)
    except EngineError as problem:
        _log.info("engine auto: the embedded cascade is used. %s", problem)
        return _cascade(settings)
    _log.info("engine auto: the omni engine is used, with %s", engine.capabilities.model)
    return engine


def _omni(settings: EngineSettings) -> Engine:
    from .omni.checks import check
    from .omni.options import DEFAULT_MODEL, OmniOptions

    options = OmniOptions(
        model=settings.model or DEFAULT_MODEL,
        deploy_config=settings.deploy_config,
        stage_overrides=settings.stage_overrides,
        max_sessions=settings.max_calls,
        voice=settings.voice,
    )
    check(options)
    from .omni.engine import OmniEngine

    return OmniEngine(options)


def _refusal(sentence: str) -> EngineError:
    return EngineError("engine_error", sentence, kind="server_error")


def _cascade(settings: EngineSettings) -> Engine:
    from .cascade.engine import CascadeEngine, CascadeFiles
    from .cascade.llm import LanguageModel

    needed = [name for name in _LOCAL if not (name == "xllamacpp" and settings.llm_base_url)]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise _refusal(f"The cascade needs {', '.join(missing)}: run `pip install 'omnitalk[local]'`.")
    if settings.llm_base_url and not settings.llm_model:
        raise _refusal("--llm-base-url also needs --llm-model, the model's name at that endpoint.")
    if settings.llm_sees and not settings.llm_base_url:
        raise _refusal("--llm-sees is about the model at --llm-base-url; the embedded one does not see.")
    if settings.llm_model and not settings.llm_base_url:
        raise _refusal("--llm-model names a model at an endpoint and also needs --llm-base-url.")

    async def files() -> CascadeFiles:
        from omnitalk.models import MissingModel, path

        def find() -> CascadeFiles:
            try:
                return CascadeFiles(
                    vad=path("vad") / "model.onnx",
                    turn=path("turn") / "model.onnx",
                    whisper=path("asr"),
                    llm=None if settings.llm_base_url else path("llm") / "model.gguf",
                )
            except MissingModel as error:
                raise _refusal(str(error)) from error

        return await asyncio.to_thread(find)

    name = settings.llm_model or "Qwen2.5-Coder-0.5B-Instruct"

    def llm(found: CascadeFiles, seats: int) -> LanguageModel:
        if found.llm is None:
            from .cascade.llm_http import HttpLlm

            return HttpLlm(
                settings.llm_base_url or "", model=name, api_key=os.environ.get(settings.llm_api_key_env), sees=settings.llm_sees
            )
        from .cascade.llm_local import LocalLlm

        return LocalLlm(found.llm, name=name, seats=seats)

    remote = settings.llm_base_url is not None
    return CascadeEngine(files, llm, model=name, remote_llm=remote, sees=settings.llm_sees, max_sessions=settings.max_calls or 2)


def _scripted(settings: EngineSettings) -> Engine:
    from .scripted import ScriptedEngine

    return ScriptedEngine(settings.scripted_mode, max_sessions=settings.max_calls or 4)
