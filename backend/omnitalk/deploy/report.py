"""What ``check`` finds, as data."""

from dataclasses import dataclass, field
from typing import Literal

from .facts import ModelFacts
from .files import DeployFile
from .layout import StagePlan
from .memory import StageMemory

__all__ = ["CardUse", "Finding", "Level", "Report"]

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """``error``: it will not start or not serve. ``warning``: it will, worse than the file says. ``note``: worth knowing."""

    level: Level
    text: str


@dataclass(frozen=True)
class CardUse:
    """One GPU: GiB that the stages may take, of how many, and what others use already."""

    index: int
    name: str
    taken: float
    total: float
    used_by_others: float

    @property
    def fits(self) -> bool:
        """Whether the stages fit beside what is used already."""
        return self.taken + self.used_by_others <= self.total


@dataclass
class Report:
    """What is known of a deploy file. ``sessions``: calls at once, None = a turn-based server, or not stated in what could be read.
    ``only``: the stages that this host runs. ``memory`` and ``cards`` are empty when no GPUs were given."""

    file: DeployFile
    pipeline: str | None = None
    model: ModelFacts | None = None
    only: frozenset[int] | None = None
    duplex: bool | None = None
    sessions: int | None = None
    stages: list[StagePlan] = field(default_factory=list)
    memory: dict[int, StageMemory] = field(default_factory=dict)
    cards: list[CardUse] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all that the file inherits could be read."""
        return self.file.missing_base is None

    @property
    def accepted(self) -> bool:
        """No error was found."""
        return not any(finding.level == "error" for finding in self.findings)

    def add(self, level: Level, text: str) -> None:
        """Adds a finding, once."""
        finding = Finding(level, text)
        if finding not in self.findings:
            self.findings.append(finding)
