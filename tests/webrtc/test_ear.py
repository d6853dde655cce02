"""Packets in any order become sound of the right length, with nothing waited for that need not be."""

from dataclasses import dataclass

import numpy as np
import pytest
from omnitalk.media.audio import Samples
from omnitalk.transports.webrtc.ear import EAR_RATE, Ear
from omnitalk.transports.webrtc.opus import SPEECH_RATE, OpusEncoder


@dataclass
class Packet:
    sequence_number: int
    timestamp: int
    payload: bytes


class Heard:
    def __init__(self) -> None:
        self.pieces: list[Samples] = []
        self.ear = Ear(self.pieces.append)

    @property
    def ms(self) -> float:
        return 1000.0 * sum(map(len, self.pieces)) / EAR_RATE

    @property
    def sound(self) -> Samples:
        return np.concatenate(self.pieces)


def speech(count: int, *, sequence: int = 0, timestamp: int = 0, hz: float = 400.0, ms: int = 20) -> list[Packet]:
    encoder, frame = OpusEncoder(ms), SPEECH_RATE * ms // 1000
    phase = 2 * np.pi * hz * np.arange(count * frame) / SPEECH_RATE
    sound = (0.4 * np.sin(phase)).astype(np.float32).reshape(count, frame)
    return [
        Packet((sequence + index) % (1 << 16), (timestamp + index * 48 * ms) % (1 << 32), encoder.encode(piece))
        for index, piece in enumerate(sound)
    ]


def hear(packets: list[Packet]) -> Heard:
    heard = Heard()
    for packet in packets:
        assert heard.ear.add(packet) == (False, None)
    return heard


def test_each_packet_is_heard_when_it_comes() -> None:
    heard = Heard()
    for index, packet in enumerate(speech(50)):
        heard.ear.add(packet)
        assert heard.ms == pytest.approx(20.0 * (index + 1), abs=0.1)
    spectrum = np.abs(np.fft.rfft(heard.sound * np.hanning(len(heard.sound))))
    assert abs(int(np.argmax(spectrum)) * EAR_RATE / len(heard.sound) - 400.0) < 2.0


@pytest.mark.parametrize("start", [0, (1 << 16) - 20])
def test_packets_that_overtake_each_other_are_put_in_order(start: int) -> None:
    packets = speech(40, sequence=start, timestamp=(1 << 32) - 960 * 20)
    straight = hear(packets)
    for index in range(5, 35, 4):
        packets[index], packets[index + 2] = packets[index + 2], packets[index]
    crooked = hear(packets)
    assert crooked.ear.lost == crooked.ear.late == 0
    assert np.array_equal(crooked.sound, straight.sound)


@pytest.mark.parametrize("ms", [10, 20])
def test_a_lost_packet_is_waited_for_no_longer_than_sixty_ms_and_leaves_its_length(ms: int) -> None:
    packets = speech(1_000 // ms, ms=ms)
    del packets[20]
    heard = Heard()
    behind = []
    for index, packet in enumerate(packets):
        heard.ear.add(packet)
        behind.append(ms * (index + 1.0) - heard.ms)
    assert max(behind) <= 60.0 + 1.0
    # And afterwards nothing is late any more, as it is for good with aiortc's own buffer.
    assert max(behind[28:]) < 1.0
    assert heard.ear.lost == 1 and heard.ms == pytest.approx(1_000.0, abs=1.0)


def test_a_sender_that_pauses_leaves_silence_of_its_length() -> None:
    first = speech(10)
    pause = speech(10, sequence=10, timestamp=10 * 960 + 24_000)
    heard = hear(first + pause)
    assert heard.ms == pytest.approx(200 + 500 + 200, abs=1.0)


def test_a_sender_that_starts_anew_is_followed() -> None:
    heard = hear(speech(10, sequence=100) + speech(10, sequence=40_000, timestamp=3_000_000_000))
    assert heard.ms == pytest.approx(400.0, abs=1.0)
    assert heard.ear.lost == 0


def test_what_is_no_opus_is_silence_and_counted() -> None:
    packets = speech(10)
    packets[4].payload = b"\xff" * 7
    packets[6].payload = b""
    heard = hear(packets)
    assert heard.ear.unreadable == 1
    assert heard.ms == pytest.approx(200.0, abs=1.0)


def test_a_repeated_packet_is_heard_once() -> None:
    packets = speech(10)
    heard = hear([packet for packet in packets for _ in range(2)])
    assert heard.ear.late == 10
    assert heard.ms == pytest.approx(200.0, abs=1.0)
