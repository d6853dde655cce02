"""Client events: OpenAI Realtime (GA names), vLLM-Omni's duplex extensions, and ``omnitalk.*``.

The class of an event is its wire name in CamelCase. Aliases of names and fields that vLLM-Omni accepts
(``input.commit``, ``delta`` for ``audio`` …) are folded into these by ``protocol.aliases`` before decoding.
"""

from typing import Annotated

import msgspec

from .base import UNSET, ClientEvent, Id, JsonObject, Milliseconds, Sequence, UnsetType
from .limits import MAX_RATE_HZ, MIN_RATE_HZ
from .session import SessionPatch


class SessionUpdate(ClientEvent, kw_only=True, tag="session.update"):
    """First message of a call (opens the session) or a later change of its settings."""

    session: SessionPatch


class InputAudioBufferAppend(ClientEvent, kw_only=True, tag="input_audio_buffer.append"):
    """A piece of microphone sound in the session's input format, with optional camera frames.

    ``video_frames``: at most two JPEG or PNG images (base + stacked composite), each at most 4,000,000 base64 characters.
    """

    audio: bytes = b""
    video_frames: list[bytes] | UnsetType = UNSET
    format: str | UnsetType = UNSET
    sample_rate_hz: Annotated[int, msgspec.Meta(ge=MIN_RATE_HZ, le=MAX_RATE_HZ)] | UnsetType = UNSET
    max_slice_nums: Sequence | None = None
    duration_ms: Milliseconds | UnsetType = UNSET
    audio_start_ms: Milliseconds | UnsetType = UNSET
    audio_end_ms: Milliseconds | UnsetType = UNSET
    is_speech: bool | UnsetType = UNSET
    speech_probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | UnsetType = UNSET
    vad: JsonObject | UnsetType = UNSET
    overlap_action: str | UnsetType = UNSET
    force_barge_in: bool | UnsetType = UNSET
    force_listen: bool | UnsetType = UNSET
    text: str | UnsetType = UNSET
    transcript: str | UnsetType = UNSET


class InputAudioBufferCommit(ClientEvent, kw_only=True, tag="input_audio_buffer.commit"):
    """Ends a manual turn. ``create_response``: null leaves it to the session (never, outside auto sessions)."""

    final: bool = True
    create_response: bool | None = None
    is_speech: bool | UnsetType = UNSET


class InputAudioBufferClear(ClientEvent, kw_only=True, tag="input_audio_buffer.clear"):
    """Forgets sound that was appended and not committed."""


class OutputAudioBufferClear(ClientEvent, kw_only=True, tag="output_audio_buffer.clear"):
    """Cancels the response that is sounding (this is a cancel, not only a local flush)."""

    response_id: Id | None = None


class ResponseCreate(ClientEvent, kw_only=True, tag="response.create"):
    """Asks for a response. Its options are checked by the engine."""

    response: JsonObject = msgspec.field(default_factory=dict)


class ResponseCancel(ClientEvent, kw_only=True, tag="response.cancel"):
    """Cancels the response in progress, or the one named."""

    response_id: Id | None = None


class ConversationItemCreate(ClientEvent, kw_only=True, tag="conversation.item.create"):
    """Adds an item (text, audio or image parts, function output) to the conversation."""

    item: JsonObject
    previous_item_id: Id | None = None


class ConversationItemRetrieve(ClientEvent, kw_only=True, tag="conversation.item.retrieve"):
    """Asks for an item as the server keeps it."""

    item_id: Id


class ConversationItemDelete(ClientEvent, kw_only=True, tag="conversation.item.delete"):
    """Removes an item from the conversation."""

    item_id: Id


class ConversationItemTruncate(ClientEvent, kw_only=True, tag="conversation.item.truncate"):
    """Cuts an assistant item to what was heard."""

    item_id: Id
    audio_end_ms: Sequence
    content_index: Sequence = 0


class PlaybackAck(ClientEvent, kw_only=True, tag="playback.ack"):
    """How much of a response the speaker has played: cumulative ms of that response's sound."""

    played_ms: Milliseconds
    committed_ms: Milliseconds | None = None
    response_id: Id | None = None
    item_id: Id | None = None


class SessionHeartbeat(ClientEvent, kw_only=True, tag="session.heartbeat"):
    """Keeps the session's lease; answered by ``session.heartbeat_ack``."""


class SessionEventAck(ClientEvent, kw_only=True, tag="session.event_ack"):
    """Everything up to this sequence number has arrived: the replay journal may forget it."""

    server_event_seq: Sequence


class SessionResume(ClientEvent, kw_only=True, tag="session.resume"):
    """First message of a socket that returns to a live call."""

    session_id: Id
    resume_token: Id
    last_received_server_event_seq: Sequence = 0


class SessionClose(ClientEvent, kw_only=True, tag="session.close"):
    """Ends the call."""

    reason: Id = "client_close"


class InputCancel(ClientEvent, kw_only=True, tag="input.cancel"):
    """Cancels the response and throws pending input away."""


class BargeIn(ClientEvent, kw_only=True, tag="barge_in"):
    """The person takes the floor: cancels the response and throws pending input away."""


class TurnSignal(ClientEvent, kw_only=True, tag="turn.signal"):
    """A client-side turn detector speaks (``user_started``, ``user_stopped`` …)."""

    event: Id
    payload: JsonObject = msgspec.field(default_factory=dict)


class InputTextAppend(ClientEvent, kw_only=True, tag="input.text.append"):
    """Text pushed into a live session; refused by models that take none."""

    text: str


class OmnitalkInterrupt(ClientEvent, kw_only=True, tag="omnitalk.interrupt"):
    """The person pressed *interrupt* (button or Esc). ``hard`` also resets a native model's memory."""

    hard: bool = False
    source: Id = "button"


class OmnitalkHold(ClientEvent, kw_only=True, tag="omnitalk.hold"):
    """Puts the call on hold (nothing is heard or said) or takes it off hold."""

    held: bool


class OmnitalkMute(ClientEvent, kw_only=True, tag="omnitalk.mute"):
    """Tells the server that the microphone is muted; the page goes on sending zeros."""

    muted: bool


class OmnitalkQueueLeave(ClientEvent, kw_only=True, tag="omnitalk.queue.leave"):
    """Leaves the waiting line."""


class OmnitalkClientStats(ClientEvent, kw_only=True, tag="omnitalk.client_stats"):
    """What the page measured: underruns, lateness, start buffer, output latency … (flat numbers)."""

    stats: dict[str, float | str | bool | None]


AnyClientEvent = (
    SessionUpdate
    | InputAudioBufferAppend
    | InputAudioBufferCommit
    | InputAudioBufferClear
    | OutputAudioBufferClear
    | ResponseCreate
    | ResponseCancel
    | ConversationItemCreate
    | ConversationItemRetrieve
    | ConversationItemDelete
    | ConversationItemTruncate
    | PlaybackAck
    | SessionHeartbeat
    | SessionEventAck
    | SessionResume
    | SessionClose
    | InputCancel
    | BargeIn
    | TurnSignal
    | InputTextAppend
    | OmnitalkInterrupt
    | OmnitalkHold
    | OmnitalkMute
    | OmnitalkQueueLeave
    | OmnitalkClientStats
)
