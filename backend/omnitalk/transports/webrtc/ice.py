"""Where peers find a way: the addresses we listen on, and the servers a browser may ask for help, with passwords that soon expire."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Sequence
from typing import TypedDict

from aioice.ice import get_host_addresses

__all__ = ["IceServer", "ice_servers", "media_addresses"]


class IceServer(TypedDict, total=False):
    """One entry of a browser's ``RTCConfiguration.iceServers``."""

    urls: list[str]
    username: str
    credential: str


def ice_servers(urls: Sequence[str], *, secret: str | None, ttl_s: int, user: str, now: Callable[[], float] = time.time) -> list[IceServer]:
    """STUN servers as they are, TURN servers with coturn's shared-secret credentials (``use-auth-secret``), valid for ``ttl_s``.

    The user name is the time of expiry and ``user``; the password is the Base64 of its HMAC-SHA1 under the secret.
    """
    servers: list[IceServer] = []
    stun = [url for url in urls if url.startswith("stun")]
    turn = [url for url in urls if url.startswith("turn")]
    if stun:
        servers.append(IceServer(urls=stun))
    if turn and secret is not None:
        username = f"{int(now()) + ttl_s}:{user}"
        digest = hmac.new(secret.encode(), username.encode(), hashlib.sha1).digest()
        servers.append(IceServer(urls=turn, username=username, credential=base64.b64encode(digest).decode()))
    return servers


def media_addresses(chosen: Sequence[str], *, loopback: bool) -> list[str]:
    """The addresses to listen on: those chosen, or all of the machine's; the loopback one where asked for or where it is the only one."""
    if chosen:
        return list(chosen)
    found = get_host_addresses(use_ipv4=True, use_ipv6=True)
    return [*found, "127.0.0.1"] if loopback or not found else found
