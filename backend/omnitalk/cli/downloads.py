"""Download progress on a terminal: bars where there is one, a line every tenth where output goes to a file."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

__all__ = ["TerminalProgress"]


class TerminalProgress:
    """Implements ``omnitalk.models.progress.Progress``."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task: TaskID | None = None
        self._name, self._total, self._tenth = "", 1, 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def begin(self, model: str, total: int) -> None:
        """A new bar."""
        self._name, self._total, self._tenth = model, max(1, total), 0
        self._task = self._bars.add_task(model, total=total)
        if not self._console.is_terminal:
            self._line(f"Downloading {model} ({total / 1e6:,.0f} MB)")

    def at(self, done: int) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._bars.update(self._task, completed=done)
        tenth = 10 * done // self._total
        if tenth > self._tenth and not self._console.is_terminal:
            self._tenth = tenth
            self._line(f"  {self._name}: {min(100, 10 * tenth)} %")

    def say(self, sentence: str) -> None:
        """A line above the bars."""
        self._line(f"  {sentence}")

    def end(self) -> None:
        """Leaves the bar as it is."""
        self._task = None

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)
