"""What a call and the engine that answers it say to each other, beside wire events.

*Commands* go to the engine: the client events that concern the model, and the three things only the call knows. *Signals* come
from the engine and never reach the wire. Here, and not with the engine contract, because a call must not import engines;
``omnitalk.engines.base`` hands the names on.
"""

import msgspec

from omnitalk.protocol import client
from omnitalk.protocol.base import ServerEvent

__all__ = [
    "Command",
    "DismissInput",
    "EngineEvent",
    "EngineFailed",
    "Interrupt",
    "NearEnd",
    "NearEndText",
    "PlaybackProgress",
]

# -- commands: client events that concern the model, and the call's own two ---------------------------------------------


class Interrupt(msgspec.Struct, frozen=True, kw_only=True):
    """Stop this response. The person heard ``heard_ms`` of it. ``hard``: also forget pending input and, for native models, memory.

    ``reason``: turn_detected, client_cancelled, barge_in, output_audio_buffer_clear, model_listen.
    """

    response_id: str
    heard_ms: float
    reason: str
    hard: bool = False


class PlaybackProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger moved. ``sounding``: the person is hearing (or about to hear) this response right now."""

    response_id: str
    item_id: str
    played_ms: float
    committed_ms: float
    sounding: bool


class DismissInput(msgspec.Struct, frozen=True, kw_only=True):
    """What was heard since the last speech start was no interruption (noise, cough, backchannel): drop it, answer nothing."""

    reason: str


Command = (
    client.SessionUpdate
    | client.InputAudioBufferAppend
    | client.InputAudioBufferCommit
    | client.InputAudioBufferClear
    | client.ResponseCreate
    | client.ConversationItemCreate
    | client.ConversationItemRetrieve
    | client.ConversationItemDelete
    | client.ConversationItemTruncate
    | client.TurnSignal
    | client.InputTextAppend
    | client.OmnitalkMute
    | client.OmnitalkHold
    | Interrupt
    | PlaybackProgress
    | DismissInput
)


# -- signals: engine events that never reach the wire -------------------------------------------------------------------


class NearEnd(msgspec.Struct, frozen=True, kw_only=True):
    """One VAD frame of the microphone: speech probability, level in dBFS (RMS), and where it ends in the input, ms."""

    probability: float
    level_dbfs: float
    at_ms: float
    frame_ms: float = 32.0


class NearEndText(msgspec.Struct, frozen=True, kw_only=True):
    """A burst that ended while a response was sounding, transcribed: the call answers Interrupt or DismissInput."""

    text: str
    duration_ms: float
    item_id: str


class EngineFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The session cannot go on. The call closes with this reason."""

    code: str
    message: str


EngineEvent = ServerEvent | NearEnd | NearEndText | EngineFailed
