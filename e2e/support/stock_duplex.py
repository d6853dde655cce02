"""vLLM-Omni's own ``DuplexClient``, as published, without vLLM: its wheel is downloaded, unpacked and imported through an empty parent.

The package's ``__init__`` pulls all of vLLM in; its client modules need numpy, pybase64 and websockets only.
"""

import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

VERSION = "0.30.0"
_PARTS = ("vllm_omni/clients/", "vllm_omni/protocol/")


def _unpacked() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnitalk-tests" / f"vllm-omni-{VERSION}"
    if (cache / "complete").exists():
        return cache
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), f"vllm-omni=={VERSION}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=180)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as problem:
        raise RuntimeError(f"vllm-omni {VERSION} could not be downloaded, and this test needs its client: {problem}") from problem
    [wheel] = cache.glob("vllm_omni-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(cache, [name for name in archive.namelist() if name.startswith(_PARTS)])
    wheel.unlink()
    (cache / "complete").touch()
    return cache


def load() -> tuple[Any, Any]:
    """The modules ``vllm_omni.clients.duplex`` and ``vllm_omni.clients.minicpmo_4_5``. Raises ``RuntimeError`` with a sentence."""
    if "vllm_omni" not in sys.modules:
        parent = ModuleType("vllm_omni")
        parent.__path__ = [str(_unpacked() / "vllm_omni")]
        sys.modules["vllm_omni"] = parent
    return importlib.import_module("vllm_omni.clients.duplex"), importlib.import_module("vllm_omni.clients.minicpmo_4_5")
