"""The session: the patch a client sends, the settings we resolve from it, the object we show.

A client may use OpenAI's nested GA form (``audio.input.format`` …) or vLLM-Omni's flat form
(``input_audio_format``, ``sample_rate_hz`` …). ``protocol.settings.resolve`` folds both into ``SessionSettings``.
"""

from typing import Literal

import msgspec

from .base import UNSET, JsonObject, UnsetType


class SessionPatch(msgspec.Struct, kw_only=True):
    """``session.update``'s ``session`` object. Everything is optional; unknown keys are kept out, not refused."""

    type: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    modalities: list[str] | UnsetType = UNSET
    output_modalities: list[str] | UnsetType = UNSET
    instructions: str | None | UnsetType = UNSET
    initial_user_text: str | None | UnsetType = UNSET
    voice: str | JsonObject | None | UnsetType = UNSET
    ref_audio: str | None | UnsetType = UNSET
    input_audio_format: str | JsonObject | UnsetType = UNSET
    output_audio_format: str | JsonObject | UnsetType = UNSET
    response_format: str | UnsetType = UNSET
    sample_rate_hz: int | UnsetType = UNSET
    audio: JsonObject | None | UnsetType = UNSET
    turn_detection: JsonObject | None | UnsetType = UNSET
    temperature: float | None | UnsetType = UNSET
    max_response_output_tokens: int | Literal["inf"] | None | UnsetType = UNSET
    max_output_tokens: int | Literal["inf"] | None | UnsetType = UNSET
    max_tokens: int | Literal["inf"] | None | UnsetType = UNSET
    speed: float | None | UnsetType = UNSET
    idle_timeout_s: float | None | UnsetType = UNSET
    overlap_policy: str | None | UnsetType = UNSET
    overlap_short_ack_ms: float | UnsetType = UNSET
    overlap_barge_in_ms: float | UnsetType = UNSET
    overlap_silence_rms: float | UnsetType = UNSET
    playback_commit_policy: str | UnsetType = UNSET
    use_tts_template: bool | UnsetType = UNSET
    input_audio_transcription: JsonObject | None | UnsetType = UNSET
    input_audio_noise_reduction: JsonObject | None | UnsetType = UNSET
    tools: list[JsonObject] | UnsetType = UNSET
    tool_choice: str | JsonObject | UnsetType = UNSET
    metadata: JsonObject | None | UnsetType = UNSET
    include: list[str] | None | UnsetType = UNSET
    prompt: JsonObject | None | UnsetType = UNSET
    tracing: str | JsonObject | None | UnsetType = UNSET
    truncation: str | JsonObject | UnsetType = UNSET
    extra_body: JsonObject | None | UnsetType = UNSET
    profile: str | UnsetType = UNSET


class AudioFormat(msgspec.Struct, frozen=True, kw_only=True):
    """One PCM wire format. ``encoding``: pcm16, pcm_f32le, g711_ulaw or g711_alaw (mono). ``rate``: Hz."""

    encoding: str = "pcm16"
    rate: int = 24_000


class TurnDetection(msgspec.Struct, frozen=True, kw_only=True):
    """Who ends a turn. ``server_vad``: VAD silence and the turn model; ``semantic_vad``: the turn model first.

    ``threshold``: speech probability. ``silence_duration_ms``: None lets the engine choose (shorter when the turn model agrees).
    """

    type: Literal["server_vad", "semantic_vad"] = "server_vad"
    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int | None = None
    min_speech_duration_ms: int = 96
    create_response: bool = True
    interrupt_response: bool = True
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    idle_timeout_ms: int | None = None


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A session's settings, resolved: what an engine opens a session with.

    ``turn_detection`` None = the model (native duplex) or the client (manual turns) decides.
    ``transcribe``: the client wants transcripts of the user. ``extra``: vLLM-Omni's ``extra_body``, passed through.
    """

    model: str = ""
    profile: str = ""
    output_modalities: tuple[str, ...] = ("audio",)
    instructions: str | None = None
    initial_user_text: str | None = None
    voice: str | None = None
    ref_audio: str | None = None
    input_format: AudioFormat = AudioFormat(rate=16_000)
    output_format: AudioFormat = AudioFormat()
    turn_detection: TurnDetection | None = None
    transcribe: bool = True
    temperature: float | None = None
    max_output_tokens: int | None = None
    speed: float = 1.0
    idle_timeout_s: float = 300.0
    auto_response: bool = False
    overlap_policy: str = "listen_only"
    tools: tuple[JsonObject, ...] = ()
    tool_choice: str | JsonObject = "auto"
    metadata: JsonObject = msgspec.field(default_factory=dict)
    extra: JsonObject = msgspec.field(default_factory=dict)

    @property
    def speaks(self) -> bool:
        """Whether responses carry sound."""
        return "audio" in self.output_modalities


class Playback(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger of the response in hand, cumulative ms."""

    generated_ms: float = 0.0
    sent_ms: float = 0.0
    played_ms: float = 0.0
    committed_ms: float = 0.0


class Session(msgspec.Struct, kw_only=True):
    """The session as the wire shows it (OpenAI GA form first, vLLM-Omni's additions after)."""

    id: str
    object: str = "realtime.session"
    type: str = "realtime"
    model: str = ""
    expires_at: int | None = None
    output_modalities: list[str] = msgspec.field(default_factory=lambda: ["audio"])
    modalities: list[str] = msgspec.field(default_factory=lambda: ["audio", "text"])
    instructions: str | None = None
    audio: JsonObject = msgspec.field(default_factory=dict)
    tools: list[JsonObject] = msgspec.field(default_factory=list)
    tool_choice: str | JsonObject = "auto"
    max_output_tokens: int | Literal["inf"] = "inf"
    tracing: JsonObject | None = None
    truncation: str = "auto"
    prompt: JsonObject | None = None
    include: list[str] | None = None
    state: str = "open"
    turn_state: str = "listening"
    epoch: int = 0
    turn_id: int = 0
    active_response_id: str | None = None
    voice: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    speed: float | None = None
    idle_timeout_s: float | None = None
    overlap_policy: str | None = None
    playback_commit_policy: str = "ack_only"
    playback: Playback = Playback()
    input_audio_format: str = "pcm16"
    output_audio_format: str = "pcm16"
    turn_detection: JsonObject | None = None
    metadata: JsonObject | None = None
    profile: str | UnsetType = UNSET
    capabilities: JsonObject = msgspec.field(default_factory=dict)
