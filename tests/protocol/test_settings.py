"""What a client may ask of a session, in OpenAI's words and in vLLM-Omni's."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omnitalk.protocol import json_codec
from omnitalk.protocol.client import SessionUpdate
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import AudioFormat, SessionPatch, SessionSettings, TurnDetection
from omnitalk.protocol.session_object import session_object
from omnitalk.protocol.settings import DUPLEX_DEFAULTS, OPENAI_DEFAULTS, apply, resolve

from tests.protocol.protocol_strategies import JSON_VALUES


def ask(session: dict[str, Any], defaults: SessionSettings = DUPLEX_DEFAULTS) -> SessionSettings:
    event = json_codec.decode_client(json.dumps({"type": "session.update", "session": session}))
    assert isinstance(event, SessionUpdate)
    return resolve(event.session, defaults)


def test_nothing_asked_for_gives_the_defaults_of_the_door_it_came_through() -> None:
    assert ask({}, OPENAI_DEFAULTS) == OPENAI_DEFAULTS
    assert OPENAI_DEFAULTS.input_format.rate == 24_000 and OPENAI_DEFAULTS.turn_detection is not None
    assert ask({}) == DUPLEX_DEFAULTS
    assert DUPLEX_DEFAULTS.input_format.rate == 16_000 and DUPLEX_DEFAULTS.turn_detection is None


def test_openai_nested_form() -> None:
    got = ask(
        {
            "type": "realtime",
            "output_modalities": ["text"],
            "instructions": "Be brief.",
            "max_output_tokens": 50,
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": 24000},
                    "turn_detection": {"type": "semantic_vad", "eagerness": "low"},
                    "transcription": None,
                },
                "output": {"format": {"type": "audio/pcmu"}, "voice": {"id": "ann"}, "speed": 1.25},
            },
        }
    )
    assert got.input_format == AudioFormat(rate=24_000)
    assert got.output_format == AudioFormat(encoding="g711_ulaw", rate=8_000)
    assert got.turn_detection == TurnDetection(type="semantic_vad", eagerness="low")
    assert (got.output_modalities, got.voice, got.speed, got.max_output_tokens) == (("text",), "ann", 1.25, 50)
    assert not got.transcribe and not got.speaks and got.overlap_policy == "barge_in_on_speech"


def test_vllm_omni_flat_form_as_its_client_sends_it() -> None:
    got = ask(
        {
            "model": "m",
            "modalities": ["audio", "text"],
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm16",
            "sample_rate_hz": 16000,
            "audio": {"input": {"sample_rate_hz": 16000}, "output": {"sample_rate_hz": 24000}},
            "turn_detection": None,
            "ref_audio": "data:audio/wav;base64,AAAA",
            "extra_body": {"auto_response": True, "force_listen_count": 2},
        }
    )
    assert got.input_format.rate == 16_000 and got.output_format.rate == 24_000 and got.speaks
    assert got.auto_response and got.extra["force_listen_count"] == 2 and got.ref_audio is not None


def test_settings_may_lie_flat_in_the_event() -> None:
    event = json_codec.decode_client('{"type": "session.update", "event_id": "e", "instructions": "hi", "sample_rate": 8000}')
    assert isinstance(event, SessionUpdate) and event.event_id == "e"
    got = resolve(event.session, DUPLEX_DEFAULTS)
    assert got.instructions == "hi" and got.input_format.rate == 8_000


@pytest.mark.parametrize("spelling", ["pcm16", "pcm_s16le", "s16le", "PCM", "audio/pcm", {"type": "audio/pcm", "rate": 16000}])
def test_spellings_of_pcm16(spelling: Any) -> None:
    assert ask({"input_audio_format": spelling}).input_format == AudioFormat(rate=16_000)


def test_g711_has_one_rate_and_leaving_it_restores_the_usual_one() -> None:
    ulaw = ask({"input_audio_format": "g711_ulaw"})
    assert ulaw.input_format == AudioFormat(encoding="g711_ulaw", rate=8_000)
    assert apply(ulaw, SessionPatch(input_audio_format="pcm16")).input_format == AudioFormat(rate=24_000)


def test_nulls_that_mean_nothing_are_not_refused() -> None:
    assert ask({"tools": None, "modalities": None, "tool_choice": None, "input_audio_format": None}) == DUPLEX_DEFAULTS


@pytest.mark.parametrize(
    ("session", "code", "param"),
    [
        (
            {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 7999}}}},
            "unsupported_audio_format",
            "session.audio.input.format.rate",
        ),
        ({"audio": {"input": {"format": {"rate": 192001}}}}, "unsupported_audio_format", "session.audio.input.format.rate"),
        ({"audio": {"input": {"format": {"rate": True}}}}, "unsupported_audio_format", "session.audio.input.format.rate"),
        ({"audio": {"input": {"format": {"rate": "24000"}}}}, "unsupported_audio_format", "session.audio.input.format.rate"),
        ({"audio": {"input": {"format": {"type": 5}}}}, "unsupported_audio_format", "session.audio.input.format.type"),
        ({"audio": {"input": {"format": "mp3"}}}, "unsupported_audio_format", "session.audio.input.format"),
        (
            {"audio": {"input": {"format": {"type": "audio/pcmu", "rate": 16000}}}},
            "unsupported_audio_format",
            "session.audio.input.format.rate",
        ),
        ({"audio": {"input": 5}}, "bad_event", "session.audio.input"),
        ({"audio": {"output": []}}, "bad_event", "session.audio.output"),
        ({"sample_rate_hz": 10**30}, "unsupported_audio_format", "session.sample_rate_hz"),
        ({"output_audio_format": "flac"}, "unsupported_audio_format", "session.output_audio_format"),
        ({"modalities": []}, "bad_event", "session.modalities"),
        ({"modalities": ["video"]}, "bad_event", "session.modalities"),
        ({"temperature": 3}, "bad_event", "session.temperature"),
        ({"temperature": -0.1}, "bad_event", "session.temperature"),
        ({"max_output_tokens": 0}, "bad_event", "session.max_output_tokens"),
        ({"max_output_tokens": "many"}, "bad_event", "session.max_output_tokens"),
        ({"speed": 9}, "bad_event", "session.speed"),
        ({"audio": {"output": {"speed": "fast"}}}, "bad_event", "session.audio.output.speed"),
        ({"audio": {"output": {"voice": 5}}}, "bad_event", "session.audio.output.voice"),
        ({"voice": {"name": "x"}}, "bad_event", "session.voice.id"),
        ({"idle_timeout_s": 0}, "bad_event", "session.idle_timeout_s"),
        ({"instructions": "x" * 200_001}, "bad_event", "session.instructions"),
        ({"extra_body": {"auto_response": "yes"}}, "bad_event", "session.extra_body.auto_response"),
        ({"turn_detection": {"type": "server_vad", "thresold": 0.4}}, "unsupported_turn_detection", "session.turn_detection.thresold"),
        ({"turn_detection": {"type": "server_vad", "eagerness": "low"}}, "unsupported_turn_detection", "session.turn_detection.eagerness"),
        ({"turn_detection": {"type": "none"}}, "unsupported_turn_detection", "session.turn_detection.type"),
        ({"turn_detection": {"threshold": 1.1}}, "unsupported_turn_detection", "session.turn_detection.threshold"),
        ({"turn_detection": {"silence_duration_ms": True}}, "unsupported_turn_detection", "session.turn_detection.silence_duration_ms"),
        ({"turn_detection": {"silence_duration_ms": 10**400}}, "unsupported_turn_detection", "session.turn_detection.silence_duration_ms"),
        ({"turn_detection": {"create_response": 1}}, "unsupported_turn_detection", "session.turn_detection.create_response"),
        (
            {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "wild"}}}},
            "unsupported_turn_detection",
            "session.audio.input.turn_detection.eagerness",
        ),
        ({"overlap_policy": "barge_in_on_speech"}, "unsupported_turn_detection", "session.overlap_policy"),
        ({"overlap_policy": "shout"}, "bad_event", "session.overlap_policy"),
    ],
)
def test_each_mistake_is_named(session: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        ask(session)
    assert (caught.value.code, caught.value.param) == (code, param)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused_also_when_they_did_not_come_as_json(value: float) -> None:
    for patch in (SessionPatch(temperature=value), SessionPatch(speed=value), SessionPatch(idle_timeout_s=value)):
        with pytest.raises(ProtocolError):
            resolve(patch, DUPLEX_DEFAULTS)
    for detection in ({"threshold": value}, {"prefix_padding_ms": value}):
        with pytest.raises(ProtocolError):
            resolve(SessionPatch(turn_detection=detection), DUPLEX_DEFAULTS)
    with pytest.raises(ProtocolError):
        resolve(SessionPatch(audio={"input": {"format": {"rate": value}}}), DUPLEX_DEFAULTS)


def test_a_later_update_keeps_what_it_does_not_name() -> None:
    before = ask({"instructions": "a", "voice": "v", "temperature": 0.5, "turn_detection": {"type": "server_vad"}})
    after = apply(before, SessionPatch(temperature=0.9))
    assert (after.instructions, after.voice, after.temperature) == ("a", "v", 0.9)
    assert after.turn_detection == before.turn_detection


def test_a_later_update_cannot_change_what_the_session_was_built_on() -> None:
    before = ask({"model": "m", "ref_audio": "data:,a"})
    assert apply(before, SessionPatch(model="m")).model == "m"
    with pytest.raises(ProtocolError, match="runs 'm'") as caught:
        apply(before, SessionPatch(model="n"))
    assert caught.value.code == "model_update_unsupported"
    with pytest.raises(ProtocolError) as caught:
        apply(before, SessionPatch(ref_audio="data:,b"))
    assert caught.value.code == "ref_audio_update_unsupported"


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from(SessionPatch.__struct_fields__), JSON_VALUES, max_size=4), st.booleans())
def test_arbitrary_sessions_give_settings_or_a_named_refusal(session: dict[str, Any], openai: bool) -> None:
    try:
        got = ask(session, OPENAI_DEFAULTS if openai else DUPLEX_DEFAULTS)
    except ProtocolError as problem:
        assert problem.param is not None and problem.param.startswith("session")
    else:
        json_codec.encode_client(SessionUpdate(session=SessionPatch()))
        assert session_object(got, session_id="call_1").id == "call_1"
