"""One question and its answer on a terminal: words as they come, speech into a file."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from omnitalk.media.encoders import encode_speech

from .completions import ask

__all__ = ["Report", "converse"]

_BYTES_A_SECOND = 48_000


class Report(NamedTuple):
    """``speech_s``: seconds of speech saved. Times in seconds from the request; None for what never came."""

    first_word_s: float | None
    first_sound_s: float | None
    whole_s: float
    speech_s: float
    usage: dict[str, Any] | None


def converse(api_base: str, key: str, body: dict[str, Any], *, show: Callable[[str], None], output: Path) -> Report:
    """Shows the answer's words and saves its speech as WAV. Raises ``Refused``; ``OSError`` when the file cannot be written."""
    begun = time.perf_counter()
    first_word: float | None = None
    first_sound: float | None = None
    usage: dict[str, Any] | None = None
    pcm = bytearray()
    for said in ask(api_base, key, body):
        if said.text:
            first_word = first_word or time.perf_counter() - begun
            show(said.text)
        if said.pcm:
            first_sound = first_sound or time.perf_counter() - begun
            pcm += said.pcm
        usage = said.usage or usage
    if pcm:
        output.write_bytes(encode_speech(bytes(pcm), "wav"))
    return Report(first_word, first_sound, time.perf_counter() - begun, len(pcm) / _BYTES_A_SECOND, usage)
