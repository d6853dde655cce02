"""Deploy files: how many GPUs a model is laid over, and whether they hold it. Needs neither vLLM nor a GPU."""

from .check import check
from .files import DeployFile, DeployFileError, find_file, our_files, read, write
from .gpus import Gpu, NoGpus, described, on_this_machine
from .memory import window_marks
from .overrides import parse_overrides
from .report import CardUse, Finding, Report
from .upstream import Upstream, find_upstream

__all__ = [
    "CardUse",
    "DeployFile",
    "DeployFileError",
    "Finding",
    "Gpu",
    "NoGpus",
    "Report",
    "Upstream",
    "check",
    "described",
    "find_file",
    "find_upstream",
    "on_this_machine",
    "our_files",
    "parse_overrides",
    "read",
    "window_marks",
    "write",
]
