"""Hears with the embedded recogniser what a loudspeaker played."""

import functools
from typing import TYPE_CHECKING

from omnitalk import models

from .speech import Samples

if TYPE_CHECKING:
    from omnitalk.engines.cascade.asr import SpeechRecogniser


@functools.cache
def _recogniser() -> "SpeechRecogniser":
    from omnitalk.engines.cascade.asr import SpeechRecogniser

    return SpeechRecogniser(models.path("asr"))


def transcribe(samples_16k: Samples) -> str:
    """The words in mono 16 kHz sound."""
    return _recogniser().transcribe(samples_16k).text
