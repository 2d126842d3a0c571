"""What other families' cohorts teach a search: a portfolio, learnt without the cohort's own family.

Candidates are the best of the other cohorts' pools and the optima of their surrogates; each is judged on all of these
cohorts by the mean of both surrogates, as the share of the way from the median pipeline to the optimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from _landscape import Landscape
from _pool import Pool
from _problem import Problem
from numpy.typing import NDArray

from autoprog.evaluation import Status
from autoprog.metalearning import greedy_portfolio
from autoprog.space import Configuration

# Of each pool.
_BEST = 40


@dataclass(frozen=True)
class Transfer:
    """What a search is given.

    Attributes
    ----------
    portfolio : tuple of Configuration
        Distinct prediction algorithms, the best first; valid on the cohort.
    """

    portfolio: tuple[Configuration, ...]


def transfer(
    problem: Problem,
    family: str,
    pools: Mapping[str, Pool],
    landscapes: Mapping[str, Sequence[Landscape]],
    families: Mapping[str, str],
    *,
    size: int,
) -> Transfer:
    """Learn from the cohorts of the other families.

    Parameters
    ----------
    problem : Problem
        The cohort's space.
    family : str
        The cohort's own family, of which nothing is used.
    pools : mapping
        Cohort -> pool.
    landscapes : mapping
        Cohort -> its faithful surrogates.
    families : mapping
        Cohort -> family.
    size : int
        Configurations in the portfolio.

    Returns
    -------
    Transfer
        For this cohort.

    Raises
    ------
    ValueError
        If no other family has a landscape.
    """
    others = sorted(name for name in landscapes if families[name] != family and landscapes[name])
    if not others:
        msg = f"no family but {family} has a faithful surrogate: nothing can be learnt without the cohort's own"
        raise ValueError(msg)
    candidates: dict[Configuration, None] = {}
    for name in others:
        for configuration in (*best_of(pools[name]), *(landscape.optimum for landscape in landscapes[name])):
            if (valid := problem.adapted(configuration)) is not None:
                candidates[valid] = None
    configurations = list(candidates)
    gains = np.column_stack([_gains(landscapes[name], configurations) for name in others])
    size_of = Counter(families[name] for name in others)
    weights = np.array([1.0 / size_of[families[name]] for name in others])
    predictors = [c.prediction.algorithm for c in configurations]
    rows = greedy_portfolio(gains, predictors, size, weights=weights)
    return Transfer(tuple(configurations[i] for i in rows))


def best_of(pool: Pool) -> list[Configuration]:
    """The pool's best configurations by their mean score."""
    succeeded = [e for e in pool.entries if e.status is Status.SUCCEEDED]
    succeeded.sort(key=lambda entry: -float(np.mean(entry.fold_scores)))
    return [entry.configuration for entry in succeeded[:_BEST]]


def _gains(landscapes: Sequence[Landscape], configurations: Sequence[Configuration]) -> NDArray[np.float64]:
    """1 at the optimum, 0 at the median, of a cohort; NaN where it fails or is not valid."""
    gains = np.full((len(landscapes), len(configurations)), np.nan)
    for i, landscape in enumerate(landscapes):
        there = [landscape.problem.adapted(c) for c in configurations]
        valid = [j for j, c in enumerate(there) if c is not None]
        truth = landscape.truth([c for c in there if c is not None])
        gains[i, valid] = np.where(np.isnan(truth), np.nan, 1.0 - landscape.regret(truth))
    return gains.mean(axis=0)
