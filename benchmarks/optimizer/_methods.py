"""The table of methods; a new variant is one line."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from _method import Method
from _problem import Problem

import autoprog

# The version of a shared part of the benchmark is told by its own fingerprint; this is of what the rivals are.
_PACKAGES = {"_optuna": "optuna", "_smac": "smac", "_flat_process": "botorch"}
# What our own proposals come from.
_SOURCES = ("optimizer/*.py", "metalearning/portfolio.py")


@dataclass(frozen=True)
class Entry:
    """One method.

    Attributes
    ----------
    place : str
        Module and class.
    options : mapping
        Keyword arguments of the class.
    portfolio : int
        First evaluations that come from what other families' cohorts taught, where a method starts as it likes.
    ablates : str or None
        The method from which it differs by one switch.
    is_rival : bool
        Whether the claim is to beat it.
    seeds, budget : int or None
        Fewer seeds and evaluations than the others, where its proposer is too slow for theirs.
    """

    place: str
    options: Mapping[str, Any] = field(default_factory=dict)
    portfolio: int = 0
    ablates: str | None = None
    is_rival: bool = False
    seeds: int | None = None
    budget: int | None = None

    def start(self, problem: Problem, seed: int, budget: int) -> Method:
        """A run of it."""
        module, name = self.place.split(":")
        method: Method = getattr(importlib.import_module(module), name)(problem, seed, budget, **self.options)
        return method

    def fingerprint(self) -> str:
        """Changes with whatever may change its proposals: its options, its package's version, our own source."""
        module = self.place.split(":")[0]
        digest = hashlib.sha256(repr((self.place, sorted(self.options.items()), self.portfolio)).encode())
        if module in _PACKAGES:
            digest.update(version(_PACKAGES[module]).encode())
        if module == "_ours":
            for pattern in _SOURCES:
                for file in sorted(Path(autoprog.__file__).parent.glob(pattern)):
                    digest.update(file.read_bytes())
        return digest.hexdigest()[:16]


def _ours(*, portfolio: int = 0, ablates: str | None = None, **options: Any) -> Entry:
    return Entry("_ours:Ours", options, portfolio, ablates)


METHODS = {
    "default": _ours(),
    "paper": _ours(preset="paper", ablates="default"),
    "portfolio": _ours(portfolio=5, ablates="default"),
    "ucb": _ours(acquisition="ucb", ablates="default"),
    "no_families": _ours(family_strength=0.0, ablates="default"),
    # Log odds that no likelihood of so few evaluations overcomes.
    "fixed_families": _ours(family_strength=200.0, ablates="default"),
    "one_decomposition": _ours(averaged=1, ablates="default"),
    "one_subspace": _ours(subspaces=1, ablates="default"),
    "no_effects": _ours(effects=False, ablates="default"),
    "cost_aware": _ours(cost_aware=True, ablates="default"),
    "random": Entry("_method:RandomSearch", is_rival=True),
    "tpe": Entry("_optuna:TreeParzen", is_rival=True),
    "tpe_portfolio": Entry("_optuna:TreeParzen", portfolio=5),
    "tpe_each": Entry("_optuna:TreeParzenEach", is_rival=True),
    "smac": Entry("_smac:Smac", is_rival=True),
    "flat_gp": Entry("_flat_process:FlatProcess", is_rival=True),
    # More than a second a suggestion here and four below: as many seeds as the others' would take days.
    "smac_retrained": Entry("_smac:Smac", {"retrain_after": 1}, is_rival=True, seeds=3, budget=50),
    "optuna_gp": Entry("_optuna:OptunaProcess", is_rival=True, seeds=3, budget=50),
}
