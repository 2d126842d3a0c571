"""What other families' cohorts teach a search: the product's own warm start, from the statistics of their pools."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from _cohorts import family_of
from _kept import kept, source
from _pool import Pool, all_names, read
from _problem import Problem

from autoprog.metalearning import (
    CohortStatistics,
    OpenCohort,
    comparable_statistics,
    learn_statistics,
    plain_names,
    reference_pipelines,
    warm_start,
)
from autoprog.metalearning.similarity import WeightForm
from autoprog.optimizer import OptimizerOptions, Start
from autoprog.space import Configuration

_SOURCES = ("metalearning/*.py", "optimizer/*.py", "space/*.py")


def learnt(cohort: str, folder: Path, problem: Problem, form: WeightForm = "softmin") -> Start:
    """Learn from the cohorts of the other families.

    Parameters
    ----------
    cohort : str
        Of the search; nothing of its own family is used.
    folder : Path
        Of the pools.
    problem : Problem
        The search's space.
    form : {"softmin", "printed"}
        How cohorts weigh by their distances.

    Returns
    -------
    Start
        For this cohort.

    Raises
    ------
    ValueError
        If no other family has a pool of scores.
    """
    if not (others := others_of(cohort, folder)):
        msg = f"no family but {family_of(cohort)} has a pool: nothing can be learnt without the cohort's own"
        raise ValueError(msg)
    return warm_start(
        read(cohort, folder).meta_features,
        others,
        problem.kinds,
        mode="classification",
        metric="auc_roc",
        agnostic=OptimizerOptions(),
        form=form,
    )


def others_of(cohort: str, folder: Path) -> list[CohortStatistics]:
    """Statistics of the cohorts of other families."""
    return _known(statistics_of(other, folder) for other in _of_other_families(cohort, folder))


def open_cohort(name: str, folder: Path) -> OpenCohort | None:
    """What a pool teaches whoever installs autoprog; None where it has too few scores."""
    pool, statistics = read(name, folder), statistics_of(name, folder)
    if statistics is None:
        return None
    return OpenCohort(family_of(name), plain_names(pool.features), statistics)


@cache
def statistics_of(name: str, folder: Path) -> CohortStatistics | None:
    """What a pool teaches, as a search with these evaluations would have, the last of all."""
    pool = read(name, folder)
    alone = _known(_learnt_alone(other, folder) for other in _of_other_families(name, folder))
    comparable = comparable_statistics(alone, pool.shape.mode, pool.metric)
    kinds = pool.space.valid_kinds(pool.shape)
    return _learnt(pool, reference_pipelines(pool.meta_features, comparable, kinds))


def _of_other_families(cohort: str, folder: Path) -> list[str]:
    return [other for other in all_names(folder) if family_of(other) != family_of(cohort)]


def _known(statistics: Iterable[CohortStatistics | None]) -> list[CohortStatistics]:
    return [s for s in statistics if s is not None]


@cache
def _learnt_alone(name: str, folder: Path) -> CohortStatistics | None:
    return _learnt(read(name, folder), {})


def _learnt(pool: Pool, references: Mapping[str, Configuration]) -> CohortStatistics | None:
    digest = hashlib.sha256(b"".join(map(source, _SOURCES)) + repr(pool).encode())
    digest.update(repr(sorted((kind, c.key) for kind, c in references.items())).encode())
    return kept(f"{pool.name}-{digest.hexdigest()[:16]}", lambda: _learn(pool, references))


def _learn(pool: Pool, references: Mapping[str, Configuration]) -> CohortStatistics | None:
    return learn_statistics(
        pool.history,
        pool.space,
        np.random.default_rng(0),
        cohort_id=pool.name,
        meta_features=pool.meta_features,
        mode=pool.shape.mode,
        references=references,
    )
