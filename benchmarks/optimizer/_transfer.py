"""What other families' cohorts teach a search: the product's own warm start, from the statistics of their pools."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from _cohorts import family_of
from _pool import names, read
from _problem import Problem

from autoprog.metalearning import CohortStatistics, OpenCohort, learn_statistics, plain_names, warm_start
from autoprog.optimizer import OptimizerOptions, Start


def learnt(cohort: str, folder: Path, problem: Problem) -> Start:
    """Learn from the cohorts of the other families.

    Parameters
    ----------
    cohort : str
        Of the search; nothing of its own family is used.
    folder : Path
        Of the pools.
    problem : Problem
        The search's space.

    Returns
    -------
    Start
        For this cohort.

    Raises
    ------
    ValueError
        If no other family has a pool.
    """
    others = [name for name in names(folder) if family_of(name) != family_of(cohort)]
    if not others:
        msg = f"no family but {family_of(cohort)} has a pool: nothing can be learnt without the cohort's own"
        raise ValueError(msg)
    return warm_start(
        read(cohort, folder).meta_features,
        [statistics for name in others if (statistics := statistics_of(name, folder)) is not None],
        problem.space,
        problem.kinds,
        mode="classification",
        metric="auc_roc",
        agnostic=OptimizerOptions(),
    )


def open_cohort(name: str, folder: Path) -> OpenCohort | None:
    """What a pool teaches whoever installs autoprog; None where it has too few scores."""
    pool, statistics = read(name, folder), statistics_of(name, folder)
    if statistics is None:
        return None
    return OpenCohort(family_of(name), plain_names(pool.features), statistics)


@cache
def statistics_of(name: str, folder: Path) -> CohortStatistics | None:
    """What a pool teaches, as a search with these evaluations would have."""
    pool = read(name, folder)
    return learn_statistics(
        pool.history,
        pool.space,
        np.random.default_rng(0),
        cohort_id=name,
        meta_features=pool.meta_features,
        mode=pool.shape.mode,
    )
