"""Reads deploy files: ours by name, a person's by path, and what they inherit."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from omnitalk.assets import asset_dir

from .merge import overlay
from .upstream import Upstream, find_upstream

__all__ = ["DeployFile", "DeployFileError", "find_file", "our_files", "read", "write"]

_MOST_BASES = 8
_MOST_BYTES = 1_000_000


class DeployFileError(Exception):
    """A file cannot be read as a deploy file; the message names the file and what to do."""


@dataclass(frozen=True)
class DeployFile:
    """A file with what it inherits.

    ``own``: what the file itself states. ``data``: laid over its bases, as far as they could be read. ``chain``: the files, this one first.
    ``missing_base``: the base that could not be read, because vLLM-Omni is not installed here; then ``data`` is incomplete.
    ``outer``: what our own files of the chain state together, without vLLM-Omni's.
    """

    path: Path
    own: dict[str, Any]
    data: dict[str, Any]
    chain: tuple[Path, ...]
    missing_base: str | None
    outer: dict[str, Any]
    outer_base: str | None


def our_files() -> list[Path]:
    """The files that ship with Omnitalk."""
    return sorted(asset_dir("stages").glob("*.yaml"))


def find_file(name: str) -> Path:
    """A path as given, or the name of one of our files, with or without ``.yaml``. Raises ``DeployFileError``."""
    given = Path(name).expanduser()
    if given.is_file():
        return given.resolve()
    ours = {path.stem: path for path in our_files()}
    if given.parent == Path(".") and given.name.removesuffix(".yaml") in ours:
        return ours[given.name.removesuffix(".yaml")]
    raise DeployFileError(f"There is no file {name}, and no deploy file of that name; the names are {', '.join(ours)}.")


def read(path: Path, upstream: Upstream | None = None) -> DeployFile:
    """``path`` laid over its bases. ``upstream`` is looked for when not given. Raises ``DeployFileError``.

    A base is looked for beside the file that names it, as vLLM-Omni does, and then among vLLM-Omni's own deploy files.
    """
    upstream = upstream or find_upstream()
    chain: list[Path] = []
    layers: list[dict[str, Any]] = []
    ours = 0
    outer_base: str | None = None
    missing: str | None = None
    current: Path | None = path
    while current is not None:
        if current in chain or len(chain) == _MOST_BASES:
            raise DeployFileError(f"{path.name}: base_config goes in a circle, or more than {_MOST_BASES} deep, at {current.name}.")
        data = _load(current)
        chain.append(current)
        layers.append(data)
        base = data.get("base_config")
        if base is None:
            current = None
        elif not isinstance(base, str) or not base:
            raise DeployFileError(f"{current.name}: base_config must be the name of a file, not {base!r}.")
        else:
            current = _base(current, base, upstream)
            inside = current is None or (upstream is not None and current.is_relative_to(upstream.folder))
            if inside and outer_base is None:
                ours, outer_base = len(layers), base if current is None else str(current)
            missing = base if current is None else None
    whole = _lay(layers)
    return DeployFile(
        path=path,
        own=layers[0],
        data=whole,
        chain=tuple(chain),
        missing_base=missing,
        outer=_lay(layers[:ours]) if outer_base is not None else whole,
        outer_base=outer_base,
    )


def write(file: DeployFile, to: Path) -> None:
    """Writes ``file`` so that vLLM-Omni itself can load it from anywhere: it looks for a base only beside the file, so the base gets its
    full path.

    Raises ``DeployFileError`` when vLLM-Omni is not installed here, because that path is then not known.
    """
    if file.missing_base is not None:
        raise DeployFileError(
            f"{file.path.name} inherits {file.missing_base} from vLLM-Omni, which is not installed here; write it where the model will run."
        )
    content = dict(file.outer)
    if file.outer_base is not None:
        content = {"base_config": file.outer_base, **content}
    text = f"# {file.path.name} of Omnitalk, for vLLM-Omni on this machine.\n" + yaml.safe_dump(content, sort_keys=False, width=120)
    # Written beside and moved, so that an engine never reads half a file.
    handle, name = tempfile.mkstemp(dir=to.parent, prefix=".deploy-", suffix=".yaml")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(to)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _lay(layers: list[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for layer in reversed(layers):
        whole = overlay(whole, layer)
    return whole


def _base(of: Path, name: str, upstream: Upstream | None) -> Path | None:
    beside = of.parent / name
    if beside.is_file() and beside.resolve() != of:
        return beside.resolve()
    if upstream is not None and (upstream.folder / name).is_file():
        return (upstream.folder / name).resolve()
    if Path(name).name != name:
        raise DeployFileError(f"{of.name}: base_config {name} is no file. It is looked for from {of.parent}.")
    if upstream is not None:
        raise DeployFileError(
            f"{of.name}: base_config {name} is neither beside it nor among the deploy files of vLLM-Omni {upstream.version or ''}".rstrip()
            + f" in {upstream.folder}."
        )
    return None


def _load(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise DeployFileError(f"{path}: cannot be read: {problem}") from None
    if len(text) > _MOST_BYTES:
        raise DeployFileError(f"{path}: {len(text)} characters is no deploy file.")
    try:
        data = yaml.load(text, _Strict)
    except yaml.YAMLError as problem:
        raise DeployFileError(f"{path}: {problem}") from None
    except RecursionError:
        raise DeployFileError(f"{path}: is nested too deeply.") from None
    if not isinstance(data, Mapping):
        raise DeployFileError(f"{path}: a deploy file is a mapping of keys, not {type(data).__name__}.")
    _shape(path, data)
    return dict(data)


def _shape(path: Path, data: Mapping[Any, Any]) -> None:
    """What merging relies on; everything else is judged by ``check``."""
    platforms = data.get("platforms") or {}
    connectors = data.get("connectors") or {}
    for name, value in (("platforms", platforms), ("connectors", connectors)):
        if not isinstance(value, Mapping):
            raise DeployFileError(f"{path}: {name} is a mapping, not {type(value).__name__}.")
    if not isinstance(data.get("duplex_session") or {}, Mapping):
        raise DeployFileError(f"{path}: duplex_session is a mapping of keys, not {type(data['duplex_session']).__name__}.")
    if not isinstance(data.get("pipeline"), str | None):
        raise DeployFileError(f"{path}: pipeline is the name of a model's pipeline, not {data['pipeline']!r}.")
    lists = [("stages", data.get("stages"))]
    for name, section in platforms.items():
        if section is not None and not isinstance(section, Mapping):
            raise DeployFileError(f"{path}: platforms.{name} is a mapping, not {type(section).__name__}.")
        lists.append((f"platforms.{name}.stages", (section or {}).get("stages")))
    for name, stages in lists:
        if stages is None:
            continue
        if not isinstance(stages, list) or not all(isinstance(stage, Mapping) for stage in stages):
            raise DeployFileError(f"{path}: {name} is a list of stages, each with a stage_id.")
        for stage in stages:
            number = stage.get("stage_id")
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise DeployFileError(f"{path}: {name}: stage_id must be a whole number from 0, not {number!r}.")
            for part in ("engine_args", "engine_extras", "runtime", "input_connectors", "output_connectors"):
                if not isinstance(stage.get(part) or {}, Mapping):
                    raise DeployFileError(f"{path}: {name}: stage {number}: {part} is a mapping of keys, not {type(stage[part]).__name__}.")
        numbers = [stage["stage_id"] for stage in stages]
        for number in numbers:
            if numbers.count(number) > 1:
                raise DeployFileError(f"{path}: {name}: stage_id {number} is there {numbers.count(number)} times.")


class _Strict(yaml.SafeLoader):
    """A key that is there twice is an error here, as it is for vLLM-Omni; plain YAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)
