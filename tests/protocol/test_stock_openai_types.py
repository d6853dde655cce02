"""What we send is what OpenAI's own types describe, checked strictly (their client is laxer)."""

import json
from typing import Any, get_args

import pytest
from omnitalk.protocol import json_codec, server
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.decoding import SERVER_EVENTS
from omnitalk.protocol.errors import error_event
from omnitalk.protocol.session_object import session_object
from omnitalk.protocol.settings import OPENAI_DEFAULTS
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

STOCK: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
IDS: dict[str, Any] = {"event_id": "event_1", "response_id": "resp_1", "item_id": "item_1"}
EV: dict[str, Any] = {"event_id": "event_1"}
SESSION = session_object(OPENAI_DEFAULTS, session_id="call_1")
USER = {
    "id": "item_u", "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
    "content": [{"type": "input_audio", "transcript": "hello"}],
}  # fmt: skip
ASSISTANT = {
    "id": "item_1", "object": "realtime.item", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_audio", "transcript": "hi"}],
}  # fmt: skip
RESPONSE = {
    "id": "resp_1", "object": "realtime.response", "status": "cancelled", "output": [ASSISTANT],
    "status_details": {"type": "cancelled", "reason": "turn_detected"},
}  # fmt: skip
PART = {"type": "audio", "transcript": ""}

EVENTS: list[ServerEvent] = [
    server.SessionCreated(session=SESSION, **EV),
    server.SessionUpdated(session=SESSION, **EV),
    error_event("bad_event", "No.", param="type", event_id="mine"),
    server.RateLimitsUpdated(**EV),
    server.InputAudioBufferSpeechStarted(audio_start_ms=1, item_id="item_u", **EV),
    server.InputAudioBufferSpeechStopped(audio_end_ms=2, item_id="item_u", **EV),
    server.InputAudioBufferCommitted(item_id="item_u", **EV),
    server.InputAudioBufferCleared(**EV),
    server.InputAudioTranscriptionDelta(item_id="item_u", delta="he", **EV),
    server.InputAudioTranscriptionCompleted(item_id="item_u", transcript="hello", **EV),
    server.InputAudioTranscriptionFailed(item_id="item_u", error={"message": "No words."}, **EV),
    server.ConversationItemAdded(item=USER, **EV),
    server.ConversationItemCreated(item=USER, **EV),
    server.ConversationItemDone(item=ASSISTANT, **EV),
    server.ConversationItemRetrieved(item=USER, **EV),
    server.ConversationItemDeleted(item_id="item_u", **EV),
    server.ConversationItemTruncated(item_id="item_1", audio_end_ms=3, **EV),
    server.ResponseCreated(response=RESPONSE, response_id="resp_1", **EV),
    server.ResponseDone(response=RESPONSE, response_id="resp_1", **EV),
    server.ResponseOutputItemAdded(response_id="resp_1", item=ASSISTANT, **EV),
    server.ResponseOutputItemDone(response_id="resp_1", item=ASSISTANT, **EV),
    server.ResponseContentPartAdded(part=PART, **IDS),
    server.ResponseContentPartDone(part=PART, **IDS),
    server.ResponseOutputAudioDelta(delta=b"xx", **IDS),
    server.ResponseOutputAudioDone(**IDS),
    server.ResponseOutputAudioTranscriptDelta(delta="hi", **IDS),
    server.ResponseOutputAudioTranscriptDone(transcript="hi", **IDS),
    server.ResponseOutputTextDelta(delta="hi", **IDS),
    server.ResponseOutputTextDone(text="hi", **IDS),
    server.ResponseFunctionCallArgumentsDelta(call_id="c", delta="{", **IDS),
    server.ResponseFunctionCallArgumentsDone(call_id="c", arguments="{}", name="f", **IDS),
    server.OutputAudioBufferStarted(response_id="resp_1", **EV),
    server.OutputAudioBufferStopped(response_id="resp_1", **EV),
    server.OutputAudioBufferCleared(response_id="resp_1", heard_ms=5, reason="barge_in", **EV),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_openais_types_take_it(event: ServerEvent) -> None:
    event.server_event_seq, event.session_id = 7, "call_1"
    got = STOCK.validate_python(json.loads(json_codec.encode_server(event)), strict=True)
    assert got.type == event.type


def test_every_event_that_both_vocabularies_have_is_checked_here() -> None:
    union = get_args(RealtimeServerEvent)[0]
    theirs = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(union)}
    assert len(theirs) > 30
    assert theirs & set(SERVER_EVENTS) == {event.type for event in EVENTS}
