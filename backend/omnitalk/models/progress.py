"""What a download reports while it runs: a seam between the store and the terminal."""

from typing import Protocol

__all__ = ["Progress", "Quiet"]


class Progress(Protocol):
    """Told about one model at a time."""

    def begin(self, model: str, total: int) -> None:
        """Work on a model of ``total`` bytes starts."""

    def at(self, done: int) -> None:
        """``done`` bytes of the model are here."""

    def say(self, sentence: str) -> None:
        """Something worth a line: a source that was skipped, and why."""

    def end(self) -> None:
        """The model is complete, or given up."""


class Quiet:
    """Reports nothing."""

    def begin(self, model: str, total: int) -> None:
        """Nothing."""

    def at(self, done: int) -> None:
        """Nothing."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""
