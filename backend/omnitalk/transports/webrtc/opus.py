"""Opus, one short packet at a time. Both directions together cost about 0.1 ms of one core a packet, so they run in the loop."""

from fractions import Fraction

import av
import numpy as np

from omnitalk.media.audio import Samples

__all__ = ["FRAME", "FRAME_MS", "RTP_FRAME", "RTP_RATE", "SPEECH_RATE", "OpusDecoder", "OpusEncoder"]

RTP_RATE = 48_000
"""Opus' RTP clock, whatever rate the sound has (RFC 7587, 4.1)."""

FRAME_MS = 10
"""What is sent, and what peers are asked for. Half of what is usual: 30 ms less from mouth to ear for twice the packets."""

RTP_FRAME = RTP_RATE * FRAME_MS // 1000
"""That in Opus' clock."""

SPEECH_RATE = 24_000
"""What the models speak at; Opus takes it as it is, so nothing is resampled on the way out."""

FRAME = SPEECH_RATE * FRAME_MS // 1000
"""Samples of speech in a packet."""

_BITRATE = 40_000
"""Opus' own recommendation for full-band speech in mono is 28 to 40 kbit/s (RFC 7587, 3.1.1)."""

_SETTLE_FRAMES = 10
"""After so many silent frames the encoder's output is that of silence, and its last packet is sent again instead of a new one."""


class OpusEncoder:
    """24 kHz mono in, packets of ``frame_ms`` out."""

    def __init__(self, frame_ms: int = FRAME_MS) -> None:
        self._frame = SPEECH_RATE * frame_ms // 1000
        self._codec = av.CodecContext.create("libopus", "w")
        self._codec.bit_rate = _BITRATE
        self._codec.format = "s16"
        self._codec.layout = "mono"
        self._codec.sample_rate = SPEECH_RATE
        self._codec.time_base = Fraction(1, SPEECH_RATE)
        self._codec.options = {"application": "voip", "frame_duration": str(frame_ms)}
        self._sent = 0
        self._silent = 0
        self._last = b""

    def encode(self, samples: Samples | None) -> bytes:
        """The packet of exactly one frame of samples; None is silence."""
        if samples is None:
            self._silent += 1
            if self._silent > _SETTLE_FRAMES and self._last:
                return self._last
            pcm = np.zeros(self._frame, np.int16)
        else:
            self._silent = 0
            pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = SPEECH_RATE
        frame.time_base = Fraction(1, SPEECH_RATE)
        frame.pts = self._sent
        self._sent += self._frame
        self._last = b"".join(bytes(packet) for packet in self._codec.encode(frame))
        return self._last


class OpusDecoder:
    """Packets in, 48 kHz mono out; stereo is mixed by the decoder itself."""

    def __init__(self) -> None:
        self._codec = av.CodecContext.create("libopus", "r")
        self._codec.format = "s16"
        self._codec.layout = "mono"
        self._codec.sample_rate = RTP_RATE

    def decode(self, packet: bytes) -> Samples | None:
        """The packet's sound, or None when it is no Opus packet."""
        try:
            frames = self._codec.decode(av.Packet(packet))
        except av.FFmpegError:
            return None
        if not frames:
            return None
        pcm = np.concatenate([np.asarray(frame.to_ndarray()).reshape(-1) for frame in frames])
        return np.asarray(pcm.astype(np.float32) / np.float32(32768.0))
