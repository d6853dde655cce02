"""Speech to text: Whisper through CTranslate2, with an encoder context as short as the utterance allows.

Whisper pads everything to 30 s; the encoder's time is proportional to that. Cutting the context to the utterance and a margin
makes a two-second question five times cheaper. Too short a context makes the decoder loop, hence ``_MIN_CONTEXT_S`` and ``_without_loops``.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from omnitalk.media.audio import Samples

from .features import HOP, log_mel

__all__ = ["SpeechRecogniser", "Transcript"]

RATE = 16_000
_MIN_CONTEXT_S = 5.0
_MARGIN_S = 1.5
_MAX_CONTEXT_S = 30.0
_MAX_PIECE_S = 28.0
"""Longer sound is recognised in pieces that end at a quiet spot."""

_NOISE = re.compile(r"[\[(*♪][^\])*♪]*[\])*♪]?")
"""What Whisper writes for sounds that are not words: [BLANK_AUDIO], (coughs), *sigh*, music notes."""

_FILLERS = frozenset({"", "you", "thank you", "thanks for watching", "bye", "okay", "so"})
"""What Whisper says when it hears nothing; believed only when it is sure that there was speech."""


class Transcript(NamedTuple):
    """``text`` is empty when there were no words. ``no_speech`` is Whisper's probability of that, ``score`` its mean log-probability."""

    text: str
    no_speech: float
    score: float


class SpeechRecogniser:
    """Blocking; run it on a worker thread, one utterance at a time."""

    def __init__(self, folder: Path, *, threads: int = 2, language: str = "en") -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self._model = ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="int8", intra_threads=threads, inter_threads=1)
        self._storage = ctranslate2.StorageView.from_array
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        names = ["<|startoftranscript|>"]
        if self._model.is_multilingual:
            names += [f"<|{language}|>", "<|transcribe|>"]
        names.append("<|notimestamps|>")
        self._prompt = [self._token(name) for name in names]

    def _token(self, name: str) -> int:
        found: int | None = self._tokenizer.token_to_id(name)
        if found is None:
            raise ValueError(f"the Whisper tokenizer has no {name} token: the model files do not belong together")
        return found

    def transcribe(self, samples: Samples) -> Transcript:
        """The words in 16 kHz sound of any length."""
        if samples.size < RATE // 20:
            return Transcript("", 1.0, 0.0)
        found = [self._piece(piece) for piece in _pieces(samples)]
        words = [piece.text for piece in found if piece.text]
        return Transcript(" ".join(words), min(piece.no_speech for piece in found), max(piece.score for piece in found))

    def _piece(self, samples: Samples) -> Transcript:
        seconds = samples.size / RATE
        context_s = min(_MAX_CONTEXT_S, max(_MIN_CONTEXT_S, seconds + _MARGIN_S))
        # The encoder's second convolution halves the frames, so their number is even.
        frames = int(context_s * RATE / HOP) // 2 * 2
        padded = np.zeros(frames * HOP, np.float32)
        padded[: samples.size] = samples[: padded.size]
        encoded = self._model.encode(self._storage(np.ascontiguousarray(log_mel(padded)[None])))
        result = self._model.generate(
            encoded,
            [self._prompt],
            beam_size=1,
            # Fast speech is five tokens a second; nine leave room and bound a decoder that loops.
            max_length=min(224, int(12 + 9 * seconds)),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
        )[0]
        text = self._tokenizer.decode(result.sequences_ids[0], skip_special_tokens=True)
        return Transcript(_words(text, result.no_speech_prob, result.scores[0]), result.no_speech_prob, result.scores[0])


def _pieces(samples: Samples) -> list[Samples]:
    pieces = []
    longest, look_back, step = int(_MAX_PIECE_S * RATE), 4 * RATE, RATE // 10
    while samples.size > longest:
        tail = samples[longest - look_back : longest]
        energy = np.square(tail).reshape(-1, step).sum(axis=1)
        cut = longest - look_back + int(energy.argmin()) * step + step // 2
        pieces.append(samples[:cut])
        samples = samples[cut:]
    return [*pieces, samples]


def _words(text: str, no_speech: float, score: float) -> str:
    text = _without_loops(_NOISE.sub(" ", text)).strip()
    if not re.search(r"\w", text):
        return ""
    plain = re.sub(r"[^\w ]", "", text.lower()).strip()
    if no_speech > 0.6 and (score < -1.0 or plain in _FILLERS):
        return ""
    return text


def _without_loops(text: str) -> str:
    """Drop everything from the first sentence that repeats an earlier one."""
    kept: list[str] = []
    seen: set[str] = set()
    for sentence in re.findall(r"[^.?!]+[.?!]*", text):
        plain = re.sub(r"[^\w ]", "", sentence.lower()).strip()
        if plain in seen and len(plain.split()) > 1:
            break
        seen.add(plain)
        kept.append(sentence)
    return re.sub(r"\s+", " ", "".join(kept))
