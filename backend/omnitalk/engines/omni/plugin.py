"""What every stage process of vLLM-Omni loads of ours (entry point group ``vllm.general_plugins``).

Two things: the alias below, and the faster draw of ``sampler``, which only stages of our own engine get (``OURS`` is set for them).

The checkpoint's ``flow.yaml`` names classes of a top-level package ``cosyvoice2``. ``stepaudio2-minicpmo`` carries that package, but
only as ``stepaudio2.cosyvoice2``, and vLLM-Omni 0.30 loads the file itself without the alias which that package used to make.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["OURS", "register"]

OURS = "OMNITALK_STAGES"
"""Set by our engine for the processes that it starts; the plugin is loaded by everybody's vLLM."""

_ALIAS = "cosyvoice2"
_REAL = "stepaudio2.cosyvoice2"


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers ``import cosyvoice2.x`` with the module ``stepaudio2.cosyvoice2.x``: the same object under both names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ALIAS and not fullname.startswith(f"{_ALIAS}."):
            return None
        if importlib.util.find_spec(_REAL + fullname[len(_ALIAS) :]) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(_REAL + spec.name[len(_ALIAS) :])

    def exec_module(self, module: ModuleType) -> None:
        """The module has been executed under its own name."""


def register() -> None:
    """Entry point. Idempotent."""
    _alias_cosyvoice2()
    if os.environ.get(OURS) == "minicpm":
        from .sampler import install

        install()


def _alias_cosyvoice2() -> None:
    """Does nothing when a top-level ``cosyvoice2`` exists or ``stepaudio2`` does not. Imports nothing heavy."""
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if _ALIAS in sys.modules or importlib.util.find_spec(_ALIAS) is not None or importlib.util.find_spec("stepaudio2") is None:
        return
    sys.meta_path.append(_Alias())
