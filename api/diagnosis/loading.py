"""Diagnosis models and trees, read once for many requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from autoprog.diagnosis import Sessions, Tree, model_from_bytes, tree_from_bytes
from autoprog.storage.files import Files

# A model of 10^9 cells takes 125 MB for its bits.
_IN_MEMORY = 4


def diagnosis_loader(files: Files) -> Callable[[str], Sessions]:
    """Return a cached loader of a model's sessions, which remember the next queries that they have found."""

    @lru_cache(maxsize=_IN_MEMORY)
    def load(sha256: str) -> Sessions:
        return Sessions(model_from_bytes(files.get("diagnosis_models", sha256)))

    return load


def tree_loader(files: Files, load: Callable[[str], Sessions]) -> Callable[[str, str], Tree]:
    """Return a cached loader of trees, by the SHA-256 of the model's file and of the tree's."""

    @lru_cache(maxsize=_IN_MEMORY)
    def load_tree(model_sha256: str, tree_sha256: str) -> Tree:
        return tree_from_bytes(load(model_sha256).model, files.get("diagnosis_trees", tree_sha256))

    return load_tree
