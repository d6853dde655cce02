"""Offers and answers as text: what an offer must have, what is taken out of it, and where an answer says that we are."""

import ipaddress
import re

from aiortc.sdp import SessionDescription

from omnitalk.protocol.errors import ProtocolError

__all__ = ["MAX_OFFER_BYTES", "publish", "read_offer"]

MAX_OFFER_BYTES = 64 * 1024
"""A browser's offer with sound, picture and data is about 8 kB."""

_MAX_SECTIONS = 8

_MAX_MESSAGE = 900_000
"""Bytes of one data-channel message: two camera pictures. aiortc puts together what fits its receive window of 1 MiB."""


def read_offer(text: str) -> str:
    """The offer without the peer's candidates, which are not asked for. Raises ``ProtocolError(invalid_offer)`` saying what it lacks."""
    if len(text) > MAX_OFFER_BYTES:
        raise _invalid(f"An offer has at most {MAX_OFFER_BYTES} characters, not {len(text)}.")
    if not text.startswith("v=0"):
        raise _invalid("This is no SDP offer: it must begin with v=0.")
    lines = [
        line for line in text.replace("\r\n", "\n").split("\n") if line and not line.startswith(("a=candidate:", "a=end-of-candidates"))
    ]
    filtered = "\r\n".join(lines) + "\r\n"
    try:
        offer = SessionDescription.parse(filtered)
    except Exception as problem:
        # The parser was written for well-formed text and fails in many ways on other.
        raise _invalid(f"The offer cannot be read ({type(problem).__name__}: {str(problem)[:100]}).") from None
    if len(offer.media) > _MAX_SECTIONS:
        raise _invalid(f"An offer has at most {_MAX_SECTIONS} sections, not {len(offer.media)}.")
    kinds = [media.kind for media in offer.media]
    if "audio" not in kinds:
        raise _invalid("The offer has no audio section: add a microphone track or an audio transceiver.")
    if kinds.count("application") != 1:
        raise _invalid("The offer needs one data channel section: create the channel `oai-events` before the offer.")
    if any(kind not in ("audio", "video", "application") for kind in kinds):
        raise _invalid("Only audio, video and application sections are known.")
    bundles = [group for group in offer.group if group.semantic == "BUNDLE"]
    mids = [media.rtp.muxId for media in offer.media]
    if not bundles or sorted(map(str, bundles[0].items)) != sorted(mids) or len(set(mids)) != len(mids):
        raise _invalid("All sections of the offer must share one transport (a=group:BUNDLE naming every a=mid).")
    for media in offer.media:
        if media.ice is None or not media.ice.usernameFragment or not media.ice.password:
            raise _invalid("The offer lacks ICE credentials (a=ice-ufrag, a=ice-pwd).")
        if media.dtls is None or not media.dtls.fingerprints:
            raise _invalid("The offer lacks a DTLS fingerprint (a=fingerprint).")
    opus = any(codec.mimeType.lower() == "audio/opus" for media in offer.media if media.kind == "audio" for codec in media.rtp.codecs)
    if not opus:
        raise _invalid("The offer's audio section does not offer Opus.")
    return filtered


def ask_for_packets_of(ms: int, answer: str) -> str:
    """The answer with the wish that the peer's sound comes in packets of this length (RFC 8866, 6.4). Who does not heed it is heard too."""
    return re.sub(r"^(a=rtpmap:\d+ opus/.*?)(\r?)$", rf"\1\2\na=ptime:{ms}\2", answer, flags=re.MULTILINE)


def publish(answer: str, address: str | None) -> str:
    """The answer with room for pictures and, where it names one of the same family, the address that the machine is known by outside."""
    answer = re.sub(r"(?m)^(a=max-message-size:)\d+", rf"\g<1>{_MAX_MESSAGE}", answer)
    if address is None:
        return answer
    public = ipaddress.ip_address(address)

    def rename(match: re.Match[str]) -> str:
        here = ipaddress.ip_address(match.group(2))
        return f"{match.group(1)}{public}{match.group(3)}" if here.version == public.version else match.group(0)

    candidates = re.compile(r"^(a=candidate:\S+ \d+ \S+ \d+ )(\S+)( .*typ host.*)$", re.MULTILINE)
    defaults = re.compile(r"^(c=IN IP[46] )(\S+)()$", re.MULTILINE)
    text = answer.replace("\r\n", "\n")
    return defaults.sub(rename, candidates.sub(rename, text)).replace("\n", "\r\n")


def _invalid(message: str) -> ProtocolError:
    return ProtocolError("invalid_offer", message, param="sdp")
