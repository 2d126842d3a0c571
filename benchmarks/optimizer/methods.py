"""The table of methods; a new variant is one line."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

from autoprog.optimizer import Start
from autoprog.space import Configuration
from benchmarks.optimizer.method import Method
from benchmarks.optimizer.problem import Problem
from training.prior.cache import source

Lesson = Literal["portfolio", "offsets", "constants", "scale"]

# The version of a shared part of the benchmark is told by its own fingerprint; this is of what the rivals are.
_PACKAGES = {
    "benchmarks.optimizer.optuna_samplers": "optuna",
    "benchmarks.optimizer.smac_search": "smac",
    "benchmarks.optimizer.flat_process": "botorch",
}
# What our own proposals come from, and what is learnt beforehand.
_SOURCES, _OF_LESSONS = ("optimizer/**/*.py", "space/**/*.py", "evaluation/**/*.py"), ("metalearning/**/*.py",)
_ALL: tuple[Lesson, ...] = ("portfolio", "offsets", "constants", "scale")


@dataclass(frozen=True)
class Entry:
    """One method.

    Attributes
    ----------
    place : str
        Module and class.
    options : mapping
        Keyword arguments of the class.
    learns : tuple of str
        What it is given of what other families' cohorts teach, where a method starts as it likes: fields of `Start`;
        a rival begins with the portfolio.
    ablates : str or None
        The method from which it differs by one switch.
    is_rival : bool
        Whether the claim is to beat it.
    seeds, budget : int or None
        Fewer seeds and evaluations than the others, where its proposer is too slow for theirs.
    """

    place: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learns: tuple[Lesson, ...] = ()
    ablates: str | None = None
    is_rival: bool = False
    seeds: int | None = None
    budget: int | None = None

    def start(self, problem: Problem, seed: int, budget: int, learnt: Start) -> Method:
        """A run of it, with what it was taught."""
        module, name = self.place.split(":")
        options = {**self.options, "start": learnt} if self.is_ours else self.options
        method: Method = getattr(importlib.import_module(module), name)(problem, seed, budget, **options)
        return method

    @property
    def is_ours(self) -> bool:
        """Whether it is the search's own optimizer, which makes its own first design."""
        return self.place.startswith("benchmarks.optimizer.ours:")

    def learns_in(self, table: str) -> tuple[Lesson, ...]:
        """What of it serves in a table: a shared first design takes the place of a portfolio."""
        return tuple(lesson for lesson in self.learns if table == "own" or lesson != "portfolio")

    def lessons(self, learnt: Start, table: str) -> Start:
        """What of all that was learnt it is given, and how far it is to be trusted."""
        given = self.learns_in(table)
        return Start(**{name: getattr(learnt, name) for name in (*given, "trust")}) if given else Start()

    def first(self, learnt: Start) -> tuple[Configuration, ...]:
        """What is evaluated before it is asked for the first time, where it starts as it likes."""
        return () if self.is_ours else learnt.portfolio

    def fingerprint(self) -> str:
        """Changes with whatever may change its proposals: its options, its package's version, our own source."""
        module = self.place.split(":")[0]
        digest = hashlib.sha256(repr((self.place, sorted(self.options.items()), self.learns)).encode())
        if module in _PACKAGES:
            digest.update(version(_PACKAGES[module]).encode())
        for pattern in (_SOURCES if self.is_ours else ()) + (_OF_LESSONS if self.learns else ()):
            digest.update(source(pattern))
        return digest.hexdigest()[:16]


def _ours(
    *, learns: tuple[Lesson, ...] = _ALL, ablates: str | None = None, is_rival: bool = False, **options: Any
) -> Entry:
    return Entry("benchmarks.optimizer.ours:Ours", options, learns, ablates, is_rival)


METHODS = {
    "default": _ours(),
    "paper": _ours(preset="paper", learns=(), ablates="default"),
    "cold": _ours(learns=(), ablates="default"),
    "portfolio_alone": _ours(learns=("portfolio",), ablates="default"),
    "prior_alone": _ours(learns=("offsets", "constants", "scale"), ablates="default"),
    "offsets_alone": _ours(learns=("offsets", "scale"), ablates="default"),
    "ucb": _ours(acquisition="ucb", ablates="default"),
    "no_families": _ours(family_strength=0.0, ablates="default"),
    # Log odds that no likelihood of so few evaluations overcomes.
    "fixed_families": _ours(family_strength=200.0, ablates="default"),
    "random_decompositions": _ours(decompositions="random", ablates="default", is_rival=True),
    "weighted_decompositions": _ours(decompositions="weighted", ablates="default"),
    "one_decomposition": _ours(averaged=1, ablates="default"),
    "one_subspace": _ours(subspaces=1, ablates="default"),
    "no_effects": _ours(effects=False, ablates="default"),
    "cost_aware": _ours(cost_aware=True, ablates="default"),
    "local": _ours(local_after=50, ablates="default"),
    "unclipped": _ours(outputs="unclipped", ablates="default"),
    "ranks": _ours(outputs="ranks", ablates="default"),
    "stop_improvement": _ours(stop="improvement", ablates="default"),
    "stop_regret": _ours(stop="regret", ablates="default"),
    "random": Entry("benchmarks.optimizer.method:RandomSearch", is_rival=True),
    "tpe": Entry("benchmarks.optimizer.optuna_samplers:TreeParzen", is_rival=True),
    "tpe_portfolio": Entry("benchmarks.optimizer.optuna_samplers:TreeParzen", learns=("portfolio",)),
    "tpe_each": Entry("benchmarks.optimizer.optuna_samplers:TreeParzenEach", is_rival=True),
    "smac": Entry("benchmarks.optimizer.smac_search:Smac", is_rival=True),
    "flat_gp": Entry("benchmarks.optimizer.flat_process:FlatProcess", is_rival=True),
    # More than a second a suggestion here and four below: as many seeds as the others' would take days.
    "smac_retrained": Entry(
        "benchmarks.optimizer.smac_search:Smac", {"retrain_after": 1}, is_rival=True, seeds=3, budget=50
    ),
    "optuna_gp": Entry("benchmarks.optimizer.optuna_samplers:OptunaProcess", is_rival=True, seeds=3, budget=50),
}

# Those that can choose among the evaluations of a pool: ours by expected improvement, the rival that does, and chance.
REPLAYED = (
    "default",
    "cold",
    "fixed_families",
    "random_decompositions",
    "weighted_decompositions",
    "no_families",
    "one_decomposition",
    "one_subspace",
    "no_effects",
    "cost_aware",
    "unclipped",
    "ranks",
    "flat_gp",
    "random",
)


def distinct_when_shared(methods: Sequence[str]) -> list[str]:
    """The methods that differ by more than the portfolio that they begin with."""
    distinct: dict[str, str] = {}
    for method in methods:
        entry = METHODS[method]
        distinct.setdefault(repr((entry.place, sorted(entry.options.items()), entry.learns_in("shared"))), method)
    return list(distinct.values())
