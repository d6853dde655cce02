"""A place behind a bad network: a network namespace whose only way out is a wire in the test's hands.

The wire is a pair of TUN devices and a thread between them, because kernels of test machines often lack netem; every packet of every
protocol passes here, late, or not at all. Needs root and Linux: ``missing()`` says what is lacking.
"""

import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Place", "Wire", "behind_a_wire", "missing"]

HERE, THERE = "198.18.77.1", "198.18.77.2"
"""Of the range that is set aside for measuring networks (RFC 2544)."""

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_UDP = 17
_MOST_WAITING = 4_096


@dataclass
class Wire:
    """How packets fare from now on, both ways alike. ``loss``: 0 to 1. ``delay_ms`` and up to ``jitter_ms`` more, so they may overtake."""

    open: bool = True
    udp: bool = True
    loss: float = 0.0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    passed: int = 0
    dropped: int = 0
    dice: random.Random = field(default_factory=lambda: random.Random(5))

    def arrives_in(self, packet: bytes) -> float | None:
        """Seconds until this packet comes out at the other end; None for never."""
        is_udp = packet[0] >> 4 == 4 and packet[9] == _UDP
        if not self.open or (is_udp and not self.udp) or packet[0] >> 4 != 4 or self.dice.random() < self.loss:
            self.dropped += 1
            return None
        self.passed += 1
        return (self.delay_ms + self.dice.random() * self.jitter_ms) / 1000.0


@dataclass(frozen=True)
class Place:
    """``name``: of the namespace. ``wire``: its way to us. ``address``: ours as it is called there; ``inside(command)`` runs there."""

    name: str
    wire: Wire
    folder: Path
    address: str = HERE

    def inside(self, *command: str) -> list[str]:
        """The command that runs this one there."""
        return ["ip", "netns", "exec", self.name, *command]

    def program(self, path: str) -> str:
        """A program that is ``path``, but runs there."""
        script = self.folder / f"there-{Path(path).name}"
        script.write_text(f'#!/bin/sh\nexec ip netns exec {self.name} {path} "$@"\n')
        script.chmod(0o755)
        return str(script)


def missing() -> str | None:
    """What this machine lacks for it, as a reason to skip; None when all is there."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs root, for network namespaces"
    if shutil.which("ip") is None:
        return "needs ip (apt-get install iproute2)"
    if not os.path.exists("/dev/net/tun"):
        return "needs /dev/net/tun"
    probe = subprocess.run(["ip", "netns", "add", f"probe{os.getpid()}"], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"needs network namespaces: {probe.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", f"probe{os.getpid()}"], check=True)
    return None


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


def _carry(wire: Wire, ends: tuple[int, int], stop: int) -> None:
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    waiting: list[tuple[float, int, int, bytes]] = []
    number = 0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select([*ends, stop], [], [], timeout)
        if stop in ready:
            return
        for end in ready:
            packet = os.read(end, 65_536)
            delay = wire.arrives_in(packet)
            if delay is not None and len(waiting) < _MOST_WAITING:
                heapq.heappush(waiting, (time.monotonic() + delay, number, other[end], packet))
                number += 1
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            try:
                os.write(end, packet)
            except OSError:
                wire.dropped += 1  # a full queue or a device that is down: a network loses such packets too


@contextmanager
def behind_a_wire(folder: Path) -> Iterator[Place]:
    """A namespace with the address ``THERE``, reached from here (``HERE``) over a wire; gone afterwards."""
    name = f"omni{os.getpid()}"
    near, far = f"{name}a"[:15], f"{name}b"[:15]
    wire = Wire()
    _ip("netns", "add", name)
    ends: list[int] = []
    stop_read, stop = os.pipe()
    thread: threading.Thread | None = None
    try:
        ends = [_device(near), _device(far)]
        _ip("link", "set", far, "netns", name)
        _ip("addr", "add", f"{HERE}/30", "dev", near)
        _ip("-n", name, "addr", "add", f"{THERE}/30", "dev", far)
        for where, device in (((), near), (("-n", name), far), (("-n", name), "lo")):
            _ip(*where, "link", "set", device, "up")
        # A browser asks which way leads out before it looks for a way at all.
        _ip("-n", name, "route", "add", "default", "via", HERE)
        thread = threading.Thread(target=_carry, args=(wire, (ends[0], ends[1]), stop_read), name="wire", daemon=True)
        thread.start()
        yield Place(name, wire, folder)
    finally:
        os.close(stop)
        if thread is not None:
            thread.join(10)
        for end in (*ends, stop_read):
            os.close(end)
        _ip("netns", "del", name)
