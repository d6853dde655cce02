"""Every number that governs a call, in one place. The reasons stand beside the numbers."""

import msgspec

__all__ = ["CallConfig", "InterruptionConfig", "JournalConfig"]


class JournalConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of the replay journal, the same as vLLM-Omni's: about 3 minutes of 24 kHz PCM16, or one minute after it was sent."""

    max_bytes: int = 8 * 1024 * 1024
    max_age_s: float = 60.0


class InterruptionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """When near-end sound ducks a response, and when it cuts it.

    * ``speech_probability``: Silero's usual threshold. ``floor_dbfs``: what echo cancellation leaves over is below it, a person
      at arm's length is 20 dB above it.
    * ``loud_dbfs``: sound this loud ducks even when the VAD doubts that it is speech, because the VAD needs some 60 ms to be sure.
    * ``cut_after_ms``: a spoken "mm-hm" is about 300 ms and the VAD stretches it by about 100; a person who means to speak goes
      on. ``gap_ms``: the closure of a stop consonant is under 150 ms, so a shorter gap is inside a word.
    * ``shortest_word_ms``: less voice than this is a click or a knock and nothing to transcribe.
    * ``verdict_s``: how long a burst may wait, ducked, to be transcribed. ``stale_s``: how long without a VAD frame ends a burst.
    * ``duck_db`` and the ramps: quiet enough to talk over, loud enough to notice that the reply goes on; the way back is slower.
    """

    speech_probability: float = 0.5
    floor_dbfs: float = -50.0
    loud_dbfs: float = -28.0
    cut_after_ms: float = 480.0
    gap_ms: float = 200.0
    shortest_word_ms: float = 96.0
    verdict_s: float = 1.5
    stale_s: float = 0.5
    duck_db: float = -20.0
    duck_ramp_ms: int = 50
    restore_ramp_ms: int = 150


class CallConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and timers of one call.

    * ``grace_s``: how long a call without a socket waits for it to return. vLLM-Omni's value.
    * ``events_per_s``, ``burst``: the flood limit. A page sends 50 pieces of sound and some 20 other events a second.
    * ``finished_slack_ms``: a response counts as heard this close to its end, because clients round what they report.
    * ``stalled_s``: a client that stops reporting is believed to have finished this long after the sound must have ended.
    * ``awaiting_s``: how long *thinking* is shown for a turn that nobody answers.
    * ``max_responses``: how many past responses can still be acknowledged.
    """

    grace_s: float = 30.0
    events_per_s: float = 400.0
    burst: float = 800.0
    finished_slack_ms: float = 60.0
    stalled_s: float = 2.0
    awaiting_s: float = 20.0
    max_responses: int = 64
    journal: JournalConfig = JournalConfig()
    interruption: InterruptionConfig = InterruptionConfig()
