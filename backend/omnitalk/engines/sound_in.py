"""The sound of an append, from whatever format the wire has to one rate. A new format in mid-call starts a new resampler."""

from omnitalk.media.audio import Resampler, Samples, decode
from omnitalk.protocol.audio_format import canonical_encoding, check_rate
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import InputAudioBufferAppend
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import AudioFormat

from .base import EngineError

__all__ = ["SoundIn", "wire_format"]


def wire_format(event: InputAudioBufferAppend, default: AudioFormat) -> AudioFormat:
    """What the event's bytes are. Raises ``EngineError(unsupported_audio_format)``."""
    try:
        encoding = default.encoding if event.format is UNSET else canonical_encoding(str(event.format), param="format")
        rate = default.rate if event.sample_rate_hz is UNSET else check_rate(event.sample_rate_hz, param="sample_rate_hz")
    except ProtocolError as problem:
        raise EngineError(problem.code, problem.message, param=problem.param) from problem
    return AudioFormat(encoding=encoding, rate=rate)


class SoundIn:
    """``rate``: Hz of what comes out."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._format: AudioFormat | None = None
        self._resampler = Resampler(rate, rate)

    def samples(self, data: bytes, wire: AudioFormat) -> Samples:
        """Mono float32. Raises ``EngineError(bad_audio)``."""
        if wire != self._format:
            self._format, self._resampler = wire, Resampler(wire.rate, self._rate)
        try:
            return self._resampler.process(decode(data, wire.encoding))
        except ValueError as problem:
            raise EngineError("bad_audio", f"This sound cannot be read: {problem}.", param="audio") from problem
