"""decode(encode(event)) == event, for every event that there is, in JSON and in binary."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omnitalk.protocol import binary_codec, json_codec
from omnitalk.protocol.base import ClientEvent, ServerEvent
from omnitalk.protocol.client import InputAudioBufferAppend, SessionHeartbeat
from omnitalk.protocol.decoding import CLIENT_EVENTS, SERVER_EVENTS
from omnitalk.protocol.server import ResponseOutputAudioDelta

from tests.protocol.protocol_strategies import appends, structs

CLIENT = [st.one_of(appends() if kind is InputAudioBufferAppend else structs(kind)) for kind in CLIENT_EVENTS.values()]
SERVER = [structs(kind) for kind in SERVER_EVENTS.values()]


def test_the_vocabulary_is_complete() -> None:
    assert len(CLIENT_EVENTS) == 25
    assert len(SERVER_EVENTS) >= 50
    for name in (*CLIENT_EVENTS, *SERVER_EVENTS):
        assert name == name.lower() and name


@pytest.mark.parametrize("events", CLIENT, ids=list(CLIENT_EVENTS))
def test_client_events_come_back_as_they_went(events: st.SearchStrategy[ClientEvent]) -> None:
    @settings(max_examples=40, deadline=None)
    @given(events)
    def check(event: ClientEvent) -> None:
        assert json_codec.decode_client(json_codec.encode_client(event)) == event
        assert json_codec.decode_client(json_codec.encode_client(event).encode()) == event
        assert binary_codec.decode_client(binary_codec.encode_client(event)) == event

    check()


@pytest.mark.parametrize("events", SERVER, ids=list(SERVER_EVENTS))
def test_server_events_come_back_as_they_went(events: st.SearchStrategy[ServerEvent]) -> None:
    @settings(max_examples=40, deadline=None)
    @given(events)
    def check(event: ServerEvent) -> None:
        assert json_codec.decode_server(json_codec.encode_server(event)) == event
        assert binary_codec.decode_server(binary_codec.encode_server(event)) == event

    check()


def test_a_binary_frame_is_laid_out_as_documented() -> None:
    frame = binary_codec.encode_server(ResponseOutputAudioDelta(response_id="r", item_id="i", delta=b"\x01\x02\x03\x04"))
    magic, version, blobs, header, sound = struct.unpack_from("<2sBBII", frame)
    assert (magic, version, blobs, sound) == (b"OT", 1, 1, 4)
    assert frame[12 : 12 + header].startswith(b'{"type":"response.output_audio.delta"')
    assert b"delta" not in frame[12 : 12 + header].replace(b"output_audio.delta", b"")
    assert frame[12 + header :] == b"\x01\x02\x03\x04"


def test_only_sound_and_pictures_are_worth_a_binary_frame() -> None:
    assert binary_codec.has_blobs(InputAudioBufferAppend(audio=b"xx"))
    assert not binary_codec.has_blobs(SessionHeartbeat())
