"""What a short burst of speech over a reply meant, judged by its words."""

import re
from typing import Final, Literal

__all__ = ["Verdict", "judge"]

Verdict = Literal["words", "backchannel", "noise"]

_BACKCHANNELS: Final = frozenset(
    {
        "ah", "aha", "alright", "all right", "cool", "exactly", "fine", "go on", "good", "got it", "great", "hm", "hmm", "huh",
        "i know", "i see", "indeed", "interesting", "m", "mhm", "mhmm", "mm", "mm hm", "mm hmm", "mmhm", "mmhmm", "mmm", "nice",
        "of course", "oh", "oh okay", "ok", "okay", "really", "right", "sure", "true", "uh", "uh huh", "uhhuh", "um", "wow", "yah", "yeah",
        "yep", "yes", "yup",
    }
)  # fmt: skip
"""What an English listener says without wanting the floor."""

_INVENTED: Final = frozenset({"you", "thank you", "thanks", "thank you very much", "thanks for watching", "bye", "bye bye", "the", "so"})
"""What Whisper writes for breath, coughs and hum when it is given half a second of them."""

_INTERJECTIONS: Final = frozenset(
    {
        "actually", "but", "cancel", "enough", "excuse", "hang", "hello", "hey", "hold", "listen", "never", "no", "nope", "pause", "quiet",
        "shush", "silence", "sorry", "stop", "wait", "what", "who", "why",
    }
)  # fmt: skip
"""Words that take the floor however short they are said."""

_ONE_SYLLABLE_MS: Final = 450.0
"""A hum ("mm-hm") is 300 to 400 ms, and a recogniser makes a word of it ("Mom?"). So in a burst this short only interjections count;
whoever meant another word says it again, longer."""

_MAX_BACKCHANNEL_MS: Final = 1_200.0
_MAX_WORDS_PER_S: Final = 8.0
"""Faster than any speaker: the recogniser made it up."""

_ANNOTATION: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|♪[^♪]*♪?")
_NOT_A_WORD: Final = re.compile(r"[^\w']+")


def judge(text: str, duration_ms: float) -> Verdict:
    """Words take the floor; a backchannel ("mm-hm", "yeah, right") and noise do not."""
    words = _NOT_A_WORD.sub(" ", _ANNOTATION.sub(" ", text.lower())).split()
    if not words or not any(character.isalnum() for character in "".join(words)):
        return "noise"
    if " ".join(words) in _INVENTED and duration_ms < _MAX_BACKCHANNEL_MS:
        return "noise"
    if len(words) > 2 + _MAX_WORDS_PER_S * duration_ms / 1000.0:
        return "noise"
    if duration_ms <= _MAX_BACKCHANNEL_MS and _all_backchannel(words):
        return "backchannel"
    if duration_ms < _ONE_SYLLABLE_MS and words[0] not in _INTERJECTIONS:
        return "noise"
    return "words"


def _all_backchannel(words: list[str]) -> bool:
    """Whether the words are backchannels end to end, such as ``yeah yeah`` or ``oh i see``. Longest match first."""
    at = 0
    while at < len(words):
        for length in (2, 1):
            if at + length <= len(words) and " ".join(words[at : at + length]) in _BACKCHANNELS:
                at += length
                break
        else:
            return False
    return True
