"""A network for media in the test's hands: UDP between the browser and the server passes here, or does not."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

REROUTE = """ports => {
  const { setRemoteDescription } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    // Whatever address the server says, the packets go through the test's hands.
    const sdp = description.sdp.replace(/^(a=candidate:\\S+ \\d \\S+ \\d+) \\S+ (\\d+) /gm,
      (line, start, port) => `${start} 127.0.0.1 ${ports[port] ?? 9} `);
    return setRemoteDescription.call(this, { type: description.type, sdp });
  };
}"""
"""Run it before the page's scripts, with the map from the server's ports to the relay's."""


@dataclass
class Relay:
    """``open``: whether packets pass. ``passed``: how many did. ``ports``: the server's port to ours."""

    ports: dict[int, int] = field(default_factory=dict)
    open: bool = True
    passed: int = 0

    @property
    def script(self) -> str:
        """For ``add_init_script``."""
        pairs = ", ".join(f"{theirs}: {ours}" for theirs, ours in self.ports.items())
        return f"({REROUTE})({{{pairs}}})"


def free_ports(count: int) -> int:
    """The first of as many UDP ports in a row that nobody uses."""
    for first in range(42_000, 60_000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sockets.append(probe)
                probe.bind(("0.0.0.0", port))
            return first
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
    raise RuntimeError("no free UDP ports")


@contextmanager
def relaying(first: int, count: int) -> Iterator[Relay]:
    """A relay in front of the server's media ports ``first`` … ``first + count - 1`` on this machine."""
    relay, chooser, stopping = Relay(), selectors.DefaultSelector(), threading.Event()
    for port in range(first, first + count):
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        near.bind(("127.0.0.1", 0))
        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        far.bind(("127.0.0.1", 0))
        relay.ports[port] = near.getsockname()[1]
        browser: list[tuple[str, int]] = []
        chooser.register(near, selectors.EVENT_READ, (far, browser, ("127.0.0.1", port)))
        chooser.register(far, selectors.EVENT_READ, (near, browser, None))

    def carry() -> None:
        while not stopping.is_set():
            for key, _ in chooser.select(0.05):
                other, browser, server = key.data
                assert isinstance(key.fileobj, socket.socket)
                try:
                    packet, sender = key.fileobj.recvfrom(65_536)
                    if server is not None:
                        browser[:] = [sender]
                    if relay.open and (target := server or (browser[0] if browser else None)):
                        other.sendto(packet, target)
                        relay.passed += 1
                except OSError:
                    continue  # nobody listens at the other end at the moment: a network does not care

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        stopping.set()
        thread.join()
        for key in list(chooser.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
