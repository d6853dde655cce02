"""Whatever arrives, the only exception is a ProtocolError, and it says what was wrong."""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omnitalk.protocol import binary_codec, json_codec
from omnitalk.protocol.decoding import CLIENT_EVENTS
from omnitalk.protocol.errors import ProtocolError, error_type
from omnitalk.protocol.limits import MAX_EVENT_BYTES, MAX_VIDEO_FRAME_BYTES

from tests.protocol.protocol_strategies import JSON_OBJECTS, JSON_VALUES

JPEG = b"\xff\xd8\xff\xe0"


def refused(data: str | bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        json_codec.decode_client(data)
    return caught.value


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("text", "code", "param"),
    [
        ("", "invalid_json", None),
        ("hello", "invalid_json", None),
        ('{"type": "response.cancel"', "invalid_json", None),
        ('{"type": "playback.ack", "played_ms": NaN}', "invalid_json", None),
        ('{"type": "playback.ack", "played_ms": Infinity}', "invalid_json", None),
        ('{"type": "playback.ack", "played_ms": 1e999}', "invalid_json", None),
        ('{"type": "session.heartbeat", "note": "\\ud800"}', "invalid_json", None),
        (b'{"type": "\xff"}', "invalid_json", None),
        ("null", "bad_event", None),
        ("[]", "bad_event", None),
        ("5", "bad_event", None),
        ("{}", "bad_event", "type"),
        ('{"type": null}', "bad_event", "type"),
        ('{"type": 5}', "bad_event", "type"),
        ('{"type": "response.creat"}', "unknown_event", "type"),
        ('{"type": "response.cancel", "response_id": 5}', "bad_event", "response_id"),
        ('{"type": "response.create", "response": []}', "bad_event", "response"),
        ('{"type": "conversation.item.delete"}', "bad_event", "item_id"),
        ('{"type": "conversation.item.create", "item": "x"}', "bad_event", "item"),
        ('{"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": 1.5}', "bad_event", "audio_end_ms"),
        ('{"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": -1}', "bad_event", "audio_end_ms"),
        ('{"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": true}', "bad_event", "audio_end_ms"),
        ('{"type": "playback.ack"}', "bad_event", "played_ms"),
        ('{"type": "playback.ack", "played_ms": "12"}', "bad_event", "played_ms"),
        ('{"type": "playback.ack", "played_ms": -1}', "bad_event", "played_ms"),
        ('{"type": "playback.ack", "played_ms": 1e300}', "bad_event", "played_ms"),
        ('{"type": "playback.ack", "played_ms": ' + "9" * 400 + "}", "bad_event", "played_ms"),
        ('{"type": "session.event_ack", "server_event_seq": ' + "9" * 400 + "}", "bad_event", "server_event_seq"),
        ('{"type": "session.resume"}', "bad_event", "session_id"),
        ('{"type": "session.resume", "session_id": "c", "resume_token": 1}', "bad_event", "resume_token"),
        ('{"type": "session.update", "session": 5}', "bad_event", "session"),
        ('{"type": "session.update", "session": {"temperature": "hot"}}', "bad_event", "session.temperature"),
        ('{"type": "session.update", "session": {"tools": [5]}}', "bad_event", "session.tools[0]"),
        (
            '{"type": "session.update", "session": {"ref_audio_path": "/etc/passwd"}}',
            "unsupported_ref_audio_path",
            "session.ref_audio_path",
        ),
        ('{"type": "omnitalk.hold", "held": 1}', "bad_event", "held"),
        ('{"type": "input_audio_buffer.append"}', "bad_event", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": ""}', "bad_event", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": 5}', "bad_audio", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": null}', "bad_audio", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": "not base64!"}', "bad_audio", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": "data:audio/wav;base64,AAAA"}', "bad_audio", "audio"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "format": "mp3"}', "unsupported_audio_format", "format"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "format": {"rate": 7}}', "unsupported_audio_format", "format.rate"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "sample_rate_hz": 1000000}', "bad_event", "sample_rate_hz"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "speech_probability": 2}', "bad_event", "speech_probability"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "overlap": "shout"}', "bad_event", "overlap_action"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "video_frames": "x"}', "invalid_video_frames", "video_frames"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "video_frames": [5]}', "invalid_video_frames", "video_frames[0]"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "video_frames": ["AAAA"]}', "invalid_video_frames", "video_frames[0]"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "video_frames": [null]}', "invalid_video_frames", "video_frames[0]"),
        ('{"type": "input_audio_buffer.append", "audio": "AAAA", "max_slice_nums": 2}', "invalid_video_frames", "max_slice_nums"),
    ],
)
def test_each_mistake_is_named(text: str | bytes, code: str, param: str | None) -> None:
    problem = refused(text)
    assert (problem.code, problem.param) == (code, param)
    assert problem.message.endswith(".") and len(problem.message) <= 400


def test_the_refused_event_is_named_by_its_own_id() -> None:
    assert refused('{"type": "response.creat", "event_id": "mine"}').event_id == "mine"
    assert refused('{"type": "playback.ack", "event_id": "mine"}').event_id == "mine"
    assert refused('{"type": "playback.ack", "played_ms": 1, "event_id": 7}').event_id is None
    assert refused('{"type": "playback.ack", "event_id": "' + "x" * 600 + '"}').event_id is None


def test_an_event_of_20_mebibytes_is_refused_and_one_at_the_limit_is_not_called_too_large() -> None:
    assert refused("x" * (20 << 20)).code == "event_too_large"
    assert refused(b"x" * (MAX_EVENT_BYTES + 1)).code == "event_too_large"
    assert refused(b"x" * MAX_EVENT_BYTES).code == "invalid_json"
    # Fewer characters than the limit, but more bytes.
    assert refused("\N{GRINNING FACE}" * (MAX_EVENT_BYTES // 4 + 1)).code == "event_too_large"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_does_not_crash(opening: str) -> None:
    assert refused(opening * 200_000).code in ("bad_event", "invalid_json")
    inner = opening * 500 + "1" + {"[": "]", '{"a":': "}"}[opening] * 500
    problem = refused('{"type": "response.create", "response": {"metadata": ' + inner + '}, "event_id": "deep"}')
    assert problem.code == "bad_event" and "nested" in problem.message


def test_nesting_that_real_events_have_is_taken() -> None:
    inner: Any = 1
    for _ in range(50):
        inner = [inner]
    json_codec.decode_client(json.dumps({"type": "response.create", "response": {"metadata": inner}}))


def test_of_a_key_given_twice_the_last_counts() -> None:
    event = json_codec.decode_client('{"type": "session.close", "reason": "a", "reason": "b"}')
    assert event.reason == "b"  # type: ignore[union-attr]


def test_pictures_are_bounded_in_number_and_size() -> None:
    def append(frames: list[bytes]) -> str:
        return json.dumps({"type": "input_audio_buffer.append", "audio": "AAAA", "video_frames": [b64(frame) for frame in frames]})

    assert refused(append([JPEG] * 3)).param == "video_frames"
    assert refused(append([JPEG, JPEG + bytes(MAX_VIDEO_FRAME_BYTES)])).param == "video_frames[1]"
    json_codec.decode_client(append([JPEG, JPEG]))


@pytest.mark.parametrize(
    ("frame", "param"),
    [
        (b"", "frame"),
        (b"OT\x01", "frame"),
        (b"XX\x01\x00\x02\x00\x00\x00{}", "frame.magic"),
        (b"OT\x02\x00\x02\x00\x00\x00{}", "frame.version"),
        (b"OT\x01\xff\x02\x00\x00\x00{}", "frame.blobs"),
        (b"OT\x01\x00\x03\x00\x00\x00{}", "frame.length"),
        (b"OT\x01\x00\x02\x00\x00\x00{}!", "frame.length"),
        (b"OT\x01\x01\x02\x00\x00\x00\xff\xff\xff\xff{}", "frame.length"),
    ],
)
def test_each_mistake_in_a_binary_frame_is_named(frame: bytes, param: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        binary_codec.decode_client(frame)
    assert (caught.value.code, caught.value.param) == ("bad_event", param)


def binary(header: dict[str, Any], *blobs: bytes) -> bytes:
    text = json.dumps(header).encode()
    return (
        struct.pack("<2sBBI", b"OT", 1, len(blobs), len(text)) + struct.pack(f"<{len(blobs)}I", *map(len, blobs)) + text + b"".join(blobs)
    )


def test_a_binary_frame_takes_its_sound_only_as_a_blob() -> None:
    for frame, param in (
        (binary({"type": "input_audio_buffer.append", "audio": "AAAA"}, b"xx"), "audio"),
        (binary({"type": "input_audio_buffer.append", "video_frames": ["AAAA"]}, b"xx", JPEG), "video_frames"),
        (binary({"type": "input_audio_buffer.append"}, b"xx", b"no picture"), "video_frames[0]"),
        (binary({"type": "session.heartbeat"}, b"xx"), "frame.blobs"),
        (binary({"type": "input_audio_buffer.append"}), "audio"),
    ):
        with pytest.raises(ProtocolError) as caught:
            binary_codec.decode_client(frame)
        assert caught.value.param == param


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_arbitrary_bytes_and_text_raise_nothing_else(data: bytes | str) -> None:
    for decode in (json_codec.decode_client, json_codec.decode_server):
        try:
            decode(data)
        except ProtocolError as problem:
            assert problem.code and problem.message
    if isinstance(data, bytes):
        for decode_frame in (binary_codec.decode_client, binary_codec.decode_server):
            try:
                decode_frame(data)
            except ProtocolError as problem:
                assert problem.code and problem.message


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(CLIENT_EVENTS)), st.data())
def test_known_events_with_arbitrary_fields_raise_nothing_else(name: str, data: st.DataObject) -> None:
    fields = st.sampled_from([*CLIENT_EVENTS[name].__struct_fields__, "delta", "speech", "overlap", "sample_rate"])
    body = data.draw(st.dictionaries(fields, JSON_VALUES, max_size=5) | JSON_OBJECTS)
    text = json.dumps({**body, "type": name})
    try:
        json_codec.decode_client(text)
    except ProtocolError as problem:
        assert problem.code in ("bad_event", "bad_audio", "invalid_video_frames", "unsupported_audio_format", "unsupported_ref_audio_path")


@settings(max_examples=200, deadline=None)
@given(JSON_OBJECTS, st.lists(st.binary(max_size=10), max_size=4))
def test_well_formed_frames_with_arbitrary_headers_raise_nothing_else(header: dict[str, Any], blobs: list[bytes]) -> None:
    for body in (header, {**header, "type": "input_audio_buffer.append"}, {**header, "type": "response.output_audio.delta"}):
        for decode in (binary_codec.decode_client, binary_codec.decode_server):
            try:
                decode(binary(body, *blobs))
            except ProtocolError as problem:
                assert problem.code


def test_codes_are_of_the_type_that_the_reference_gives_them() -> None:
    assert error_type("bad_audio") == "invalid_request_error"
    assert error_type("engine_error") == "server_error"
    assert error_type("input_backpressure") == "rate_limit_error"
    assert error_type("a_code_of_tomorrow") == "invalid_request_error"


def test_a_refusal_becomes_an_error_event() -> None:
    event = refused('{"type": "playback.ack", "event_id": "mine"}').to_event()
    assert json.loads(json_codec.encode_server(event))["error"] == {
        "type": "invalid_request_error",
        "code": "bad_event",
        "message": "The event lacks played_ms.",
        "param": "played_ms",
        "event_id": "mine",
    }
