"""What an operator can say about calls over WebRTC."""

import msgspec

__all__ = ["WebRtcConfig"]


class WebRtcConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds.

    ``addresses``: where to listen for media; empty: every address of the machine, and the loopback one when ``loopback``.
    ``ports``: the UDP range, both ends included; None: any. ``public_address``: what the machine is called outside its NAT.
    ``connect_s``: how long a caller may take to get through. ``goodbye_s``: how long one who was told the end may take to leave.
    ``send_s``: a peer that takes no event for so long is cut off. ``lead_ms``: speech kept ready to be sent; it also bounds how far
    captions run ahead of the voice. ``start_ms``: what the engine's rhythm asks to be kept before a response begins to sound.
    """

    addresses: tuple[str, ...] = ()
    loopback: bool = False
    ports: tuple[int, int] | None = None
    public_address: str | None = None
    connect_s: float = 20.0
    goodbye_s: float = 1.0
    send_s: float = 15.0
    lead_ms: float = 1_000.0
    start_ms: float = 0.0
