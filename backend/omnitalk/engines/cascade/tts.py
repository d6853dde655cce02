"""Text to speech: a small interface, and the two voices behind it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

import numpy as np

from omnitalk.engines.base import EngineError
from omnitalk.media.audio import Samples, decode

__all__ = ["HibariVoice", "PiperVoice", "Synthesiser"]

_PIPER_TIMEOUT_S = 30.0


class Synthesiser(Protocol):
    """Blocking; run it on a worker thread, a clause at a time."""

    @property
    def name(self) -> str:
        """What provides the voice."""
        ...

    @property
    def rate(self) -> int:
        """Hz of what ``say`` gives."""
        ...

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of its voices, the default first."""
        ...

    def say(self, text: str, *, speed: float = 1.0) -> Samples:
        """The clause as sound at ``rate``. ``speed``: 1 is the voice's own pace, 2 twice as fast."""
        ...


class HibariVoice:
    """hibari: 8 MB of weights inside its package, about a hundred times faster than real time on one core."""

    name = "hibari"
    rate = 24_000
    # The package's other voices are fetched from the network on first use, which a call must not wait for.
    voices = ("heart",)

    def __init__(self) -> None:
        from hibari import Hibari

        self._tts = Hibari(voice=self.voices[0], threads=1)

    def say(self, text: str, *, speed: float = 1.0) -> Samples:
        """The clause as sound. The noise part is seeded, so the same words sound the same."""
        return np.asarray(self._tts(text, speed=min(2.0, max(0.5, speed)), seed=0), dtype=np.float32)


class PiperVoice:
    """Piper as a process of its own for every clause (it is GPL; nothing of it is loaded here).

    ``model``: a voice's ``.onnx`` with its ``.onnx.json`` beside it. Raises ``EngineError`` when the command or the voice is missing.
    """

    name = "piper"

    def __init__(self, model: Path, *, command: str = "piper") -> None:
        found = shutil.which(command)
        if found is None:
            raise _failure("the command `piper` is not on the PATH: install it, or use the hibari voice.")
        config = model.with_name(model.name + ".json")
        try:
            self.rate = int(json.loads(config.read_text())["audio"]["sample_rate"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _failure(f"the voice {model} has no readable {config.name} with audio.sample_rate beside it.") from error
        self._command, self._model = found, model
        self.voices: tuple[str, ...] = (model.stem,)

    def say(self, text: str, *, speed: float = 1.0) -> Samples:
        """The clause as sound. Raises ``EngineError`` when the process fails or takes longer than 30 s."""
        arguments = [self._command, "--model", str(self._model), "--length_scale", f"{1.0 / speed:.3f}", "--output-raw"]
        try:
            done = subprocess.run(arguments, input=text.encode() + b"\n", capture_output=True, timeout=_PIPER_TIMEOUT_S, check=True)
        except subprocess.TimeoutExpired as error:
            raise _failure(f"it took longer than {_PIPER_TIMEOUT_S:g} s for a clause.") from error
        except subprocess.CalledProcessError as error:
            detail = error.stderr.decode(errors="replace").strip()[-300:]
            raise _failure(detail) from error
        return decode(done.stdout[: len(done.stdout) // 2 * 2], "pcm16")


def _failure(sentence: str) -> EngineError:
    return EngineError("engine_error", f"Piper cannot speak: {sentence}", kind="server_error")
