"""What a measurement ran on: the machine, our own use of it, and how busy others kept it meanwhile."""

import os
import platform
import resource
import time
from pathlib import Path
from typing import NamedTuple

__all__ = ["Usage", "Watch", "cpu_s", "describe", "peak_rss_mb"]


class Usage(NamedTuple):
    """Over a stretch of time: cores used by this process, cores used by everything else, and the most memory held so far (MB)."""

    own_cores: float
    other_cores: float
    peak_rss_mb: float


def describe() -> str:
    """Processor, cores, memory, system and Python, in a line."""
    model = platform.processor() or platform.machine()
    memory = ""
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    if meminfo.exists():
        memory = f", {int(meminfo.read_text().split()[1]) / 2**20:.0f} GB"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores{memory}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _busy_s() -> float | None:
    """Seconds of all cores spent in work since boot; None where the system does not say."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(value) for value in stat.read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has used, all its threads together. Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_rss_mb(pid: int) -> float:
    """The most memory that a process has held so far. Linux only."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10


class Watch:
    """Start it, do the work, ask for ``usage``."""

    def __init__(self) -> None:
        self._wall, self._own, self._busy = time.perf_counter(), self._own_s(), _busy_s()

    @staticmethod
    def _own_s() -> float:
        used = os.times()
        return used.user + used.system + used.children_user + used.children_system

    def usage(self) -> Usage:
        """Since the start."""
        wall = max(time.perf_counter() - self._wall, 1e-6)
        own = self._own_s() - self._own
        now = _busy_s()
        other = max(0.0, now - self._busy - own) if now is not None and self._busy is not None else 0.0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if platform.system() == "Darwin" else 2**10)
        return Usage(own / wall, other / wall, peak)
