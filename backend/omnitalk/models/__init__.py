"""Weights: ``path(name)`` for those who need them, ``fetch`` and ``verify`` for the command line."""

from .manifest import MANIFEST, File, HubFiles, Model, PackageMembers
from .store import FetchFailed, MissingModel, Store, default_cache, fetch, path

__all__ = [
    "MANIFEST",
    "FetchFailed",
    "File",
    "HubFiles",
    "MissingModel",
    "Model",
    "PackageMembers",
    "Store",
    "default_cache",
    "fetch",
    "path",
]
