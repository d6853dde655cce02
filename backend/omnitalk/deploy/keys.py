"""Unknown keys, over a file and what our own files of its chain add. vLLM-Omni's own files are not judged."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .files import DeployFile
from .schema import PLATFORMS, SESSION_KEYS, STAGE_KEYS, TESTED_VERSION, TOP_KEYS, did_you_mean

__all__ = ["stage_key_problems", "unknown_keys"]


def unknown_keys(file: DeployFile) -> Iterator[str]:
    """One sentence for each key that vLLM-Omni would ignore or refuse in a file for a speech model."""
    data = file.outer
    for key in sorted(map(str, set(data) - TOP_KEYS)):
        if key == "stage_args":
            yield "stage_args is the layout of earlier versions; vLLM-Omni 0.30 refuses it. Use stages."
        else:
            yield f"{key} is no key of a deploy file; vLLM-Omni {TESTED_VERSION} ignores it without a word.{did_you_mean(key, TOP_KEYS)}"
    for key in sorted(map(str, set(data.get("duplex_session") or ()) - SESSION_KEYS)):
        yield f"duplex_session.{key} is unknown; vLLM-Omni {TESTED_VERSION} fails on it.{did_you_mean(key, SESSION_KEYS)}"
    yield from _stages("", data.get("stages"))
    for name, section in (data.get("platforms") or {}).items():
        if name not in PLATFORMS:
            yield f"platforms.{name}: there is no such platform.{did_you_mean(str(name), PLATFORMS)}"
        for key in sorted(map(str, set(section or ()) - {"stages", "model_runner"})):
            yield f"platforms.{name}.{key} is unknown; a platform has stages and model_runner."
        yield from _stages(f"platforms.{name}: ", (section or {}).get("stages"))
    for path, text in _strings("", data):
        if "${" in text:
            yield f"{path} holds {text!r}: vLLM-Omni would fill that in when it loads the file, Omnitalk does not. Write the value."


def stage_key_problems(where: str, keys: Iterable[Any]) -> Iterator[str]:
    """One sentence for each of ``keys`` that a stage does not take."""
    for key in sorted(map(str, set(keys) - STAGE_KEYS)):
        yield f"{where}: {key} is no key of a stage; vLLM-Omni {TESTED_VERSION} would refuse it at start.{did_you_mean(key, STAGE_KEYS)}"


def _stages(where: str, stages: Any) -> Iterator[str]:
    for stage in stages or ():
        number = stage["stage_id"]
        keys = {*stage, *(stage.get("engine_args") or ()), *(stage.get("engine_extras") or ())}
        yield from stage_key_problems(f"{where}Stage {number}", keys)


def _strings(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _strings(f"{path}[{at}]", inner)
