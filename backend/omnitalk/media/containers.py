"""Which kind of file some bytes are, by their first bytes.

The decoder is always told the kind. Left to guess, it would take a playlist for a film and open the files and addresses named in it.
"""

__all__ = ["kind_of"]


def kind_of(data: bytes) -> str | None:
    """The demuxer's name: wav, flac, mp3, aac, ogg, mov (mp4, m4a, 3gp), matroska (webm); None for anything else."""
    head = data[:16]
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return "wav"
    if head[:4] == b"fLaC":
        return "flac"
    if head[:4] == b"OggS":
        return "ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free"):
        return "mov"
    if head[:3] == b"ID3":
        return "mp3"
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:
        # Layer 0 in this place is ADTS, MPEG's frame for AAC.
        return "aac" if head[1] & 0x06 == 0 else "mp3"
    return None
