"""The GPUs that a layout is held against: this machine's, asked of ``nvidia-smi``, or a machine that is described."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["KNOWN_CARDS", "Gpu", "NoGpus", "described", "on_this_machine"]

KNOWN_CARDS: Mapping[str, float] = MappingProxyType(
    {"4090": 23.5, "5090": 31.4, "l40s": 44.5, "a100": 79.2, "h100": 79.2, "h200": 139.8, "b200": 178.3}
)
"""GiB that the driver shows, which is less than what is printed on the box."""

_DESCRIBED = re.compile(r"(?:(\d{1,2})x)?(\d+(?:\.\d+)?|[a-z]\w*)", re.ASCII)
_QUERY = ("--query-gpu=index,uuid,name,memory.total,memory.used", "--format=csv,noheader,nounits")


class NoGpus(Exception):
    """There is no GPU to be had, or the description is wrong; the message is one sentence."""


@dataclass(frozen=True)
class Gpu:
    """``total`` and ``used`` in GiB."""

    name: str
    total: float
    used: float = 0.0


def described(text: str) -> list[Gpu]:
    """``2x80`` (GiB each), ``8x4090``, ``h200`` or ``80,24``. Raises ``NoGpus``."""
    found: list[Gpu] = []
    for part in text.lower().replace(" ", "").split(","):
        match = _DESCRIBED.fullmatch(part)
        if match is None:
            raise _not_understood(part)
        count, size = int(match[1] or 1), match[2]
        if size in KNOWN_CARDS:
            total, name = KNOWN_CARDS[size], size.upper()
        else:
            try:
                total, name = float(size), f"{size} GiB"
            except ValueError:
                raise _not_understood(part) from None
        if not 1 <= total <= 1024 or count < 1:
            raise _not_understood(part)
        found.extend([Gpu(name, total)] * count)
    return found


def _not_understood(part: str) -> NoGpus:
    return NoGpus(f"--gpus: {part!r} is not understood; use GiB or a card, as in 80, 2x80, 8x4090 ({', '.join(KNOWN_CARDS)}).")


def on_this_machine(run: Callable[[], str] | None = None, environment: Mapping[str, str] = os.environ) -> list[Gpu]:
    """The GPUs that a server started here would see, in its order. ``run`` gives ``nvidia-smi``'s answer. Raises ``NoGpus``."""
    rows: list[tuple[str, str, Gpu]] = []
    for line in (run or _nvidia_smi)().splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 5:
            continue
        index, uuid, name, total, used = fields
        try:
            rows.append((index, uuid, Gpu(name, float(total) / 1024, float(used) / 1024)))
        except ValueError:
            continue  # a card that shows no memory, such as one cut into slices
    if not rows:
        raise NoGpus("This machine shows no NVIDIA GPU with memory of its own.")
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [gpu for _, _, gpu in rows]
    chosen: list[Gpu] = []
    for name in (part.strip() for part in visible.split(",")):
        match = next((gpu for index, uuid, gpu in rows if name and (name == index or uuid.startswith(name))), None)
        if match is None:
            break  # CUDA itself ignores everything from the first name it does not know
        chosen.append(match)
    if not chosen:
        raise NoGpus(f"CUDA_VISIBLE_DEVICES is {visible!r}, which hides every GPU of this machine.")
    return chosen


def _nvidia_smi() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        raise NoGpus("This machine has no NVIDIA GPU (there is no nvidia-smi).")
    try:
        done = subprocess.run([program, *_QUERY], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NoGpus(f"nvidia-smi did not answer: {problem}") from None
    if done.returncode:
        told = (done.stderr or done.stdout).strip().splitlines()
        raise NoGpus(f"nvidia-smi failed: {told[0] if told else f'exit status {done.returncode}'}")
    return done.stdout
