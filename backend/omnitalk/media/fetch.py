"""Fetches files from other servers on a client's word, without becoming that client's hand inside our network.

A name is resolved once; every address it has must be public (unless ``private`` is allowed), and the connection goes to the very address
that was looked at, so a name that changes its mind between the two finds nothing. Each redirect is a new request and looked at anew.
Proxies of the environment are not used: they would resolve the name again.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore

from .refusal import MediaRefused

__all__ = ["Fetcher"]

_MAX_REDIRECTS = 3
_MAX_URL = 2048
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(?:%25?\w+)?")
_REDIRECTS = (301, 302, 303, 307, 308)


class Fetcher:
    """``private``: whether loopback, private and link-local addresses may be asked too. ``within_s``: for a file, redirects included."""

    def __init__(self, *, private: bool = False, within_s: float = 20.0, tls: ssl.SSLContext | None = None) -> None:
        self._within_s = within_s
        self._backend, self._tls = _CheckedBackend(private), tls

    async def get(self, url: str, most: int) -> bytes:
        """The file there. Raises ``MediaRefused``: ``bad_url``, ``media_not_allowed``, ``media_unreachable``, ``media_too_large``."""
        try:
            async with (
                asyncio.timeout(self._within_s),
                httpcore.AsyncConnectionPool(
                    ssl_context=self._tls, network_backend=self._backend, max_connections=1, max_keepalive_connections=0
                ) as pool,
            ):
                for _ in range(_MAX_REDIRECTS + 1):
                    found = await self._once(pool, url, most)
                    if isinstance(found, bytes):
                        return found
                    url = found
        except TimeoutError:
            raise _unreachable(f"did not send the file within {self._within_s:g} s", url) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.UnsupportedProtocol, OSError) as problem:
            # The reason stays general: it must not tell a client which doors of our network are open.
            raise _unreachable("could not be reached", url) from problem
        raise _unreachable(f"sent more than {_MAX_REDIRECTS} redirects", url)

    async def _once(self, pool: httpcore.AsyncConnectionPool, url: str, most: int) -> bytes | str:
        """The file, or where it has moved to."""
        target = _target(url)
        headers = [("Host", target.host_header), ("User-Agent", "omnitalk"), ("Accept", "*/*"), ("Accept-Encoding", "identity")]
        timeouts = {"connect": 5.0, "read": 10.0, "write": 5.0, "pool": 5.0}
        async with pool.stream("GET", target.url, headers=headers, extensions={"timeout": timeouts}) as answer:
            fields = {name.lower(): value for name, value in answer.headers}
            if answer.status in _REDIRECTS and b"location" in fields:
                return urljoin(url, fields[b"location"].decode("latin-1"))
            if answer.status != 200:
                raise _unreachable(f"answered {answer.status}", url)
            declared = fields.get(b"content-length", b"0")
            body = bytearray()
            if not declared.isdigit() or int(declared) > most:
                raise _too_large(most)
            async for piece in answer.aiter_stream():
                body += piece
                if len(body) > most:
                    raise _too_large(most)
            if not body:
                raise _unreachable("sent an empty file", url)
            return bytes(body)


class _Target:
    def __init__(self, url: str, host_header: str) -> None:
        self.url, self.host_header = url, host_header


def _target(url: str) -> _Target:
    """The URL in plain ASCII. Raises ``MediaRefused`` for what is no http(s) URL of one host."""
    if len(url) > _MAX_URL:
        raise MediaRefused("bad_url", f"A URL has at most {_MAX_URL} characters.")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except (ValueError, UnicodeError):
        raise MediaRefused("bad_url", "This URL cannot be read.") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        raise MediaRefused("bad_url", "Files are fetched from http:// and https:// URLs.")
    if parts.username is not None or parts.password is not None:
        raise MediaRefused("bad_url", "A URL may not carry a user name or password.")
    shown = f"[{host}]" if ":" in host else host
    shown = shown if port is None else f"{shown}:{port}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(ord(letter) <= 0x20 for letter in path):
        raise MediaRefused("bad_url", "A URL's letters outside ASCII, and its spaces, are written with %.")
    return _Target(f"{parts.scheme}://{shown}{path}", shown)


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were looked at, and to nothing else."""

    def __init__(self, private: bool) -> None:
        self._private, self._inner = private, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._private and any(not _public(address) for address in addresses):
            raise MediaRefused("media_not_allowed", f"{host} is inside a private network, and this server fetches from public ones only.")
        problem: Exception = OSError(f"{host} has no address")
        for address in addresses[:4]:
            try:
                return await self._inner.connect_tcp(address, port, timeout=timeout, socket_options=socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                problem = failure
        raise problem

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise MediaRefused("bad_url", "Files are fetched from http:// and https:// URLs.")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _public(address: str) -> bool:
    """Whether an address belongs to the public network; IPv4 inside IPv6 (mapped, 6to4, NAT64, Teredo) counts as what is inside."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in ipaddress.IPv6Network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return _public(str(inner))
    return found.is_global and not found.is_multicast and not found.is_reserved


def _unreachable(what: str, url: str) -> MediaRefused:
    host = (urlsplit(url).hostname or "")[:100]
    return MediaRefused("media_unreachable", f"{host} {what}.")


def _too_large(most: int) -> MediaRefused:
    return MediaRefused("media_too_large", f"A file may have at most {most} bytes.")
