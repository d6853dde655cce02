"""The omni engine on this machine's CPU, in its own environment, with a tiny random model whose decisions a script makes."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from omnitalk.bench.checkpoint import build

from .server import Server, serving

__all__ = ["Rig", "kill", "python", "rig", "stages"]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "tests" / "omni_cpu" / "deploy.yaml"


@dataclass(frozen=True)
class Rig:
    """A running server and the file that decides what the model does next."""

    server: Server
    script: Path

    def decide(self, **script: object) -> None:
        """See ``omnitalk.bench.scripted_draw.Script``."""
        self.script.write_text(json.dumps(script))


def python() -> str | None:
    """The interpreter of the engine's environment, when ``scripts/test`` could make one."""
    return os.environ.get("OMNITALK_OMNI_PYTHON")


@contextmanager
def rig(folder: Path) -> Iterator[Rig]:
    """``omnitalk serve --engine omni`` in the engine's environment."""
    found = python()
    assert found is not None
    script = folder / "draw.json"
    variables = {
        "OMNITALK_DRAW": str(script),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }
    model = build(folder / "minicpm")
    arguments = ("--engine", "omni", "--model", str(model), "--deploy-config", str(DEPLOY))
    with serving(folder / "server.log", *arguments, python=found, variables=variables, ready_within_s=240) as server:
        yield Rig(server, script)


def stages(server: Server) -> list[psutil.Process]:
    """The stage processes of this server."""
    found = []
    for child in psutil.Process(server.process.pid).children(recursive=True):
        try:
            if "StageEngineCoreProc" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return found


def kill(process: psutil.Process) -> None:
    """As the kernel does when memory runs out."""
    os.kill(process.pid, signal.SIGKILL)
