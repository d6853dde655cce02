"""Server events: OpenAI Realtime (GA names), vLLM-Omni's duplex extensions, and ``omnitalk.*``.

The class of an event is its wire name in CamelCase. Items, parts and responses are plain JSON objects with the GA fields:
clients read them whole, and we never reach deep into them on the hot path.
"""

from typing import Literal

import msgspec

from .base import UNSET, JsonObject, ServerEvent, UnsetType
from .session import Session


class ResponseScoped(ServerEvent, kw_only=True):
    """What every event inside a response carries."""

    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0


# -- session ---------------------------------------------------------------------------------------------------------


class SessionCreated(ServerEvent, kw_only=True, tag="session.created"):
    """First event of a call. Not journaled, carries no sequence number."""

    session: Session
    attachment_generation: int | UnsetType = UNSET
    resume_token: str | UnsetType = UNSET


class SessionUpdated(ServerEvent, kw_only=True, tag="session.updated"):
    """The session as it is after a ``session.update``."""

    session: Session


class SessionResumed(ServerEvent, kw_only=True, tag="session.resumed"):
    """A returning socket is attached; the journal's missed events follow. The token is a new one."""

    session: Session
    attachment_generation: int
    resume_token: str


class SessionReplaced(ServerEvent, kw_only=True, tag="session.replaced"):
    """Another socket took this call; this one closes with 1000."""

    attachment_generation: int


class SessionResyncRequired(ServerEvent, kw_only=True, tag="session.resync_required"):
    """Events between the client's last and the journal's first are gone."""

    reason: Literal["journal_gap", "journal_overflow"]


class SessionHeartbeatAck(ServerEvent, kw_only=True, tag="session.heartbeat_ack"):
    """Answer to ``session.heartbeat``."""


class SessionClosed(ServerEvent, kw_only=True, tag="session.closed"):
    """The call is over. ``reason`` is a word the page can explain."""

    reason: str
    message: str | UnsetType = UNSET
    event: JsonObject | UnsetType = UNSET


class SessionExpired(ServerEvent, kw_only=True, tag="session.expired"):
    """The call ended by itself: ``idle_ttl_expired``, ``disconnect_grace_expired``, ``request_cleanup``."""

    reason: str


class ErrorDetail(msgspec.Struct, kw_only=True):
    """``type``: invalid_request_error, server_error or rate_limit_error. ``event_id``: the client event that was refused."""

    type: str
    code: str
    message: str
    param: str | None = None
    event_id: str | None = None
    retryable: bool | UnsetType = UNSET


class Error(ServerEvent, kw_only=True, tag="error"):
    """A client event was refused, or something failed; the call goes on unless ``session.closed`` follows."""

    error: ErrorDetail


class RateLimitsUpdated(ServerEvent, kw_only=True, tag="rate_limits.updated"):
    """Always empty; sent because OpenAI's clients wait for it after a response."""

    rate_limits: list[JsonObject] = msgspec.field(default_factory=list)


# -- input -----------------------------------------------------------------------------------------------------------


class InputAudioBufferSpeechStarted(ServerEvent, kw_only=True, tag="input_audio_buffer.speech_started"):
    """The person began to speak; stock clients silence their speaker on it, so it is held back until confirmed."""

    audio_start_ms: int
    item_id: str


class InputAudioBufferSpeechStopped(ServerEvent, kw_only=True, tag="input_audio_buffer.speech_stopped"):
    """The person stopped speaking."""

    audio_end_ms: int
    item_id: str


class InputAudioBufferCommitted(ServerEvent, kw_only=True, tag="input_audio_buffer.committed"):
    """The turn's sound became a user item."""

    item_id: str
    previous_item_id: str | None = None
    event: JsonObject | UnsetType = UNSET


class InputAudioBufferCleared(ServerEvent, kw_only=True, tag="input_audio_buffer.cleared"):
    """Uncommitted sound was forgotten."""


class InputAudioTranscriptionDelta(ServerEvent, kw_only=True, tag="conversation.item.input_audio_transcription.delta"):
    """More of the transcript of a user item."""

    item_id: str
    delta: str
    content_index: int = 0


class InputAudioTranscriptionCompleted(ServerEvent, kw_only=True, tag="conversation.item.input_audio_transcription.completed"):
    """The transcript of a user item."""

    item_id: str
    transcript: str
    content_index: int = 0
    usage: JsonObject = msgspec.field(default_factory=lambda: {"type": "duration", "seconds": 0})


class InputAudioTranscriptionFailed(ServerEvent, kw_only=True, tag="conversation.item.input_audio_transcription.failed"):
    """A user item could not be transcribed."""

    item_id: str
    error: JsonObject
    content_index: int = 0


# -- conversation ----------------------------------------------------------------------------------------------------


class ConversationItemAdded(ServerEvent, kw_only=True, tag="conversation.item.added"):
    """GA: an item entered the conversation."""

    item: JsonObject
    previous_item_id: str | None = None


class ConversationItemCreated(ServerEvent, kw_only=True, tag="conversation.item.created"):
    """The older name of ``added``; both are sent."""

    item: JsonObject
    previous_item_id: str | None = None


class ConversationItemDone(ServerEvent, kw_only=True, tag="conversation.item.done"):
    """GA: an item is complete."""

    item: JsonObject
    previous_item_id: str | None = None


class ConversationItemRetrieved(ServerEvent, kw_only=True, tag="conversation.item.retrieved"):
    """Answer to ``conversation.item.retrieve``."""

    item: JsonObject


class ConversationItemDeleted(ServerEvent, kw_only=True, tag="conversation.item.deleted"):
    """Answer to ``conversation.item.delete``."""

    item_id: str
    event: JsonObject | UnsetType = UNSET


class ConversationItemTruncated(ServerEvent, kw_only=True, tag="conversation.item.truncated"):
    """An assistant item now ends where the person stopped hearing it."""

    item_id: str
    audio_end_ms: int
    content_index: int = 0
    event: JsonObject | UnsetType = UNSET


# -- response --------------------------------------------------------------------------------------------------------


class ResponseCreated(ServerEvent, kw_only=True, tag="response.created"):
    """A response began."""

    response: JsonObject
    response_id: str


class ResponseDone(ServerEvent, kw_only=True, tag="response.done"):
    """A response ended; ``response.status``: completed, cancelled, failed or incomplete."""

    response: JsonObject
    response_id: str


class ResponseOutputItemAdded(ServerEvent, kw_only=True, tag="response.output_item.added"):
    """The response's item."""

    response_id: str
    item: JsonObject
    output_index: int = 0


class ResponseOutputItemDone(ServerEvent, kw_only=True, tag="response.output_item.done"):
    """The response's item, complete."""

    response_id: str
    item: JsonObject
    output_index: int = 0


class ResponseContentPartAdded(ResponseScoped, kw_only=True, tag="response.content_part.added"):
    """The item's content part."""

    part: JsonObject


class ResponseContentPartDone(ResponseScoped, kw_only=True, tag="response.content_part.done"):
    """The item's content part, complete."""

    part: JsonObject


class ResponseSpeak(ResponseScoped, kw_only=True, tag="response.speak"):
    """The model decided to speak; once per response, before the first delta."""

    metadata: JsonObject = msgspec.field(default_factory=dict)


class ResponseListen(ServerEvent, kw_only=True, tag="response.listen"):
    """The model decided to listen. With ``response_id``: inside that response."""

    response: JsonObject
    response_id: str | UnsetType = UNSET


class ResponseOutputAudioDelta(ResponseScoped, kw_only=True, tag="response.output_audio.delta"):
    """A piece of speech in the session's output format."""

    delta: bytes
    format: str = "pcm16"
    sample_rate_hz: int = 24_000
    metadata: JsonObject | UnsetType = UNSET


class ResponseOutputAudioDone(ResponseScoped, kw_only=True, tag="response.output_audio.done"):
    """No more speech follows in this part."""


class ResponseOutputAudioTranscriptDelta(ResponseScoped, kw_only=True, tag="response.output_audio_transcript.delta"):
    """The words of the audio delta before it (may be empty)."""

    delta: str
    metadata: JsonObject | UnsetType = UNSET


class ResponseOutputAudioTranscriptDone(ResponseScoped, kw_only=True, tag="response.output_audio_transcript.done"):
    """All the words of this part."""

    transcript: str


class ResponseOutputTextDelta(ResponseScoped, kw_only=True, tag="response.output_text.delta"):
    """More text of a text-only response."""

    delta: str


class ResponseOutputTextDone(ResponseScoped, kw_only=True, tag="response.output_text.done"):
    """All the text of this part."""

    text: str


class ResponseFunctionCallArgumentsDelta(ServerEvent, kw_only=True, tag="response.function_call_arguments.delta"):
    """More of a function call's arguments."""

    response_id: str
    item_id: str
    call_id: str
    delta: str
    output_index: int = 0


class ResponseFunctionCallArgumentsDone(ServerEvent, kw_only=True, tag="response.function_call_arguments.done"):
    """A function call's arguments, whole."""

    response_id: str
    item_id: str
    call_id: str
    arguments: str
    name: str | UnsetType = UNSET
    output_index: int = 0


class OutputAudioBufferStarted(ServerEvent, kw_only=True, tag="output_audio_buffer.started"):
    """OpenAI (WebRTC): the response's first sound left the server."""

    response_id: str


class OutputAudioBufferStopped(ServerEvent, kw_only=True, tag="output_audio_buffer.stopped"):
    """OpenAI (WebRTC): all of the response's sound was played."""

    response_id: str


class OutputAudioBufferCleared(ServerEvent, kw_only=True, tag="output_audio_buffer.cleared"):
    """Silence now: whatever of this response is not yet heard must never be. ``heard_ms``: what the ledger counts as heard."""

    response_id: str
    heard_ms: float | UnsetType = UNSET
    reason: str | UnsetType = UNSET


# -- duplex extensions -----------------------------------------------------------------------------------------------


class PlaybackAcknowledged(ServerEvent, kw_only=True, tag="playback.acknowledged"):
    """Answer to ``playback.ack``; ``event`` holds item_id, played_ms, committed_ms, truncate, playback, history_committed."""

    event: JsonObject


class OverlapDecision(ServerEvent, kw_only=True, tag="overlap.decision"):
    """What was decided about speech over speech: ``action`` drop, listen or barge_in."""

    policy: str
    action: str
    reason: str
    metadata: JsonObject = msgspec.field(default_factory=dict)


class TurnEvent(ServerEvent, kw_only=True, tag="turn.event"):
    """A turn changed state."""

    event: str
    turn_state: str


class DuplexRaw(ServerEvent, kw_only=True, tag="duplex.raw"):
    """An engine's internal event, for the event log only."""

    name: str
    event: JsonObject


# -- omnitalk.* ------------------------------------------------------------------------------------------------------

CallState = Literal["queued", "connecting", "listening", "hearing", "thinking", "speaking", "ducked", "held", "closed"]


class OmnitalkQueue(ServerEvent, kw_only=True, tag="omnitalk.queue"):
    """The line: ``position`` 1 is next. ``estimated_wait_ms`` None = no call has ended yet to learn from."""

    position: int
    length: int
    estimated_wait_ms: int | None = None


class OmnitalkState(ServerEvent, kw_only=True, tag="omnitalk.state"):
    """What the call is doing, for the person to see."""

    state: CallState
    response_id: str | None = None


class OmnitalkDuck(ServerEvent, kw_only=True, tag="omnitalk.duck"):
    """Lower the speaker by ``gain_db`` (negative) within ``ramp_ms``: someone may be speaking."""

    gain_db: float = -20.0
    ramp_ms: int = 50
    reason: str = "near_end_speech"


class OmnitalkUnduck(ServerEvent, kw_only=True, tag="omnitalk.unduck"):
    """Bring the speaker back to full within ``ramp_ms``."""

    ramp_ms: int = 150
    reason: str = "not_an_interruption"


class OmnitalkContext(ServerEvent, kw_only=True, tag="omnitalk.context"):
    """The context gauge: tokens used by kind, the limit, and seconds left at the present rate."""

    used_tokens: int
    max_tokens: int
    by_kind: dict[str, int] = msgspec.field(default_factory=dict)
    seconds_left: float | None = None


class OmnitalkStats(ServerEvent, kw_only=True, tag="omnitalk.stats"):
    """Server-side figures of a turn or of the call: stage times in ms, drops, queue depths (flat numbers)."""

    scope: Literal["turn", "call"]
    stats: dict[str, float | int | str | None]
    response_id: str | None = None


class OmnitalkNotice(ServerEvent, kw_only=True, tag="omnitalk.notice"):
    """Something the person should know: ``level`` info, warning or error."""

    level: Literal["info", "warning", "error"]
    code: str
    message: str
