"""The one file that reaches into aiortc and aioice: five things that calls need and the libraries have no setting for.

* aiortc's receive buffer holds 80 ms back, and 280 ms for good once a packet was lost: ``Ear`` takes its place.
* aioice binds any port of any address: an operator opens a range in a firewall, and a machine has addresses that lead nowhere.
* aioice gives up at once when an offer names no candidate; browsers send such offers (they have not gathered yet) and call in later.
* It says that a connection ended, and not whether the network or the peer ended it.
* Peers' own candidates are not asked for: the server sends to nobody who has not sent to it, so an offer cannot aim it at others.

All of it is private there, so the versions are checked by ``require`` and the behaviour by ``tests/webrtc/test_inside.py``.
"""

import asyncio
import random
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from aioice.candidate import Candidate, candidate_foundation, candidate_priority
from aioice.ice import Connection, StunProtocol
from aioice.stun import Message
from aiortc import RTCIceTransport, RTCRtpReceiver
from aiortc.jitterbuffer import JitterBuffer

from .ear import Packet

__all__ = ["AIORTC", "Hears", "NoPortFree", "Unsupported", "hear_with", "path_died", "place_sockets", "require", "wait_to_be_called"]

AIORTC = "1.16"
_AIOICE = ("0.12", "0.13")
_JITTER_BUFFER = "_RTCRtpReceiver__jitter_buffer"


class Unsupported(Exception):
    """The libraries installed are not those that this was written for; the sentence says what to install."""


class NoPortFree(OSError):
    """Every port of the range is taken on every address."""


def require() -> None:
    """Raises ``Unsupported`` for another version of aiortc or aioice."""
    for name, known in (("aiortc", (AIORTC,)), ("aioice", _AIOICE)):
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "none"
        if not any(found == each or found.startswith(f"{each}.") for each in known):
            wanted = " or ".join(f"{each}.*" for each in known)
            raise Unsupported(f"Calls over WebRTC need {name} {wanted}, and {found} is installed: pip install '{name}=={known[-1]}.*'")


class Hears(Protocol):
    """What takes the packets of a receiver: an ``Ear``, or something that only counts them."""

    def add(self, packet: Packet) -> tuple[bool, None]:
        """One packet; see ``Ear.add``."""


def hear_with(receiver: RTCRtpReceiver, ear: Hears) -> None:
    """Hands the receiver's packets to this ear instead of its buffer and decoder. Before it receives anything."""
    if not isinstance(getattr(receiver, _JITTER_BUFFER, None), JitterBuffer):
        raise Unsupported("aiortc's receiver has no jitter buffer where it is expected.")
    setattr(receiver, _JITTER_BUFFER, ear)


def _connection(transport: RTCIceTransport) -> Connection:
    return transport.iceGatherer._connection


def path_died(transport: RTCIceTransport) -> bool:
    """Whether the path ended under the connection (the peer answers no more), as opposed to a peer that said goodbye over it."""
    return transport.state == "failed" or _connection(transport)._closing


def wait_to_be_called(transport: RTCIceTransport) -> None:
    """Lets the ICE transport wait for the peer's first check, instead of failing for want of candidates. Closing ends the wait."""
    connection = _connection(transport)
    connect, receive, close = connection.connect, connection.request_received, connection.close
    called = asyncio.Event()

    async def connect_when_called() -> None:
        await called.wait()
        await connect()

    def receive_and_notice(message: Message, addr: tuple[str, int], protocol: StunProtocol) -> None:
        receive(message, addr, protocol)
        # Only a check that knows this call's password is kept.
        if connection._early_checks:
            called.set()

    async def close_and_stop_waiting() -> None:
        called.set()
        await close()

    connection.connect = connect_when_called  # type: ignore[method-assign]
    connection.request_received = receive_and_notice  # type: ignore[method-assign]
    connection.close = close_and_stop_waiting  # type: ignore[method-assign]


def place_sockets(transport: RTCIceTransport, addresses: Sequence[str], ports: tuple[int, int] | None) -> None:
    """Lets the ICE transport use these addresses only, and these ports (both ends included; None: any). ``NoPortFree`` when gathering."""
    chosen = list(addresses)
    connection = _connection(transport)

    async def gather(component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        candidates = []
        for address in chosen:
            protocol = await _bind(connection, address, ports)
            if protocol is None:
                continue
            host, port = protocol.transport.get_extra_info("sockname")[:2]
            protocol.local_candidate = Candidate(
                foundation=candidate_foundation("host", "udp", host),
                component=component,
                transport="udp",
                priority=candidate_priority(component, "host"),
                host=host,
                port=port,
                type="host",
            )
            connection._protocols.append(protocol)
            candidates.append(protocol.local_candidate)
        if not candidates:
            where = "any port" if ports is None else f"the ports {ports[0]}-{ports[1]}"
            raise NoPortFree(f"No UDP socket could be bound to {where} on {', '.join(chosen) or 'any address'}.")
        return candidates

    connection.get_component_candidates = gather  # type: ignore[method-assign]


async def _bind(connection: Connection, address: str, ports: tuple[int, int] | None) -> StunProtocol | None:
    loop = asyncio.get_running_loop()
    tries = [0] if ports is None else random.sample(range(ports[0], ports[1] + 1), ports[1] - ports[0] + 1)
    for port in tries:
        try:
            _, protocol = await loop.create_datagram_endpoint(lambda: StunProtocol(connection), local_addr=(address, port))
        except OSError:
            continue
        return protocol
    return None
