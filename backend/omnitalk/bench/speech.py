"""Spoken questions for benchmarks: made on the spot, so the repository carries no recordings."""

import io
import shutil
import subprocess
import wave

import numpy as np
import soxr

from omnitalk.media.audio import Samples, decode

__all__ = ["QUESTIONS", "Speaker"]

QUESTIONS = (
    "What is the capital of France?",
    "My name is Anna.",
    "How many days are there in a week?",
    "What is my name?",
    "Tell me a fun fact about cats.",
    "What color is the sky on a clear day?",
    "Can you recommend a good breakfast?",
    "Who wrote Romeo and Juliet?",
    "What is two plus two?",
    "How do I make a cup of tea?",
    "What is the largest planet?",
    "Do you like music?",
    "What should I wear when it rains?",
    "Where do penguins live?",
    "How long does it take to boil an egg?",
    "What is the opposite of hot?",
    "Can you tell me a short joke?",
    "Which animal says meow?",
    "What is the name of our planet?",
    "Why is the sea salty?",
)
_QUIET = 0.012
RATE = 16_000


class Speaker:
    """Says questions with hibari's voice, and every fourth with espeak-ng's where that is installed (it is harder to understand)."""

    def __init__(self) -> None:
        from hibari import Hibari

        self._voice = Hibari(threads=1)
        self._espeak = shutil.which("espeak-ng")

    def say(self, index: int) -> tuple[str, str, Samples]:
        """The question, the voice, and 16 kHz sound that begins with the first and ends with the last audible sample."""
        text = QUESTIONS[index % len(QUESTIONS)]
        if index % 4 == 3 and self._espeak is not None:
            voice, (sound, rate) = "espeak-ng", self._with_espeak(self._espeak, text)
        else:
            voice, (sound, rate) = "hibari", (np.asarray(self._voice(text, seed=index), dtype=np.float32), 24_000)
        speech = np.asarray(soxr.resample(sound, rate, RATE), dtype=np.float32)
        loud = np.flatnonzero(np.abs(speech) > _QUIET)
        return text, voice, speech[loud[0] : loud[-1] + 1]

    @staticmethod
    def _with_espeak(command: str, text: str) -> tuple[Samples, int]:
        done = subprocess.run([command, "-v", "en-us", "-s", "150", "--stdout", text], capture_output=True, check=True, timeout=30)
        with wave.open(io.BytesIO(done.stdout)) as file:
            # espeak-ng writes to a pipe and cannot know the length it puts into the header.
            data = done.stdout[44:]
            return decode(data[: len(data) // 2 * 2], "pcm16") * np.float32(0.5), file.getframerate()
