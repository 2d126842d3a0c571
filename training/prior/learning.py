"""What a pool teaches: the statistics that a search with its evaluations would have left."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autoprog.metalearning import (
    CohortStatistics,
    OpenCohort,
    comparable_statistics,
    learn_statistics,
    plain_names,
    reference_pipelines,
)
from autoprog.space import Configuration
from training.prior.cache import kept, source
from training.prior.cohorts import COPIES, family_of
from training.prior.pools import Pool, all_names, read

# Arithmetic differs from processor to processor after the ninth decimal; the prior needs no more than this.
DECIMALS = 6

_SOURCES = ("metalearning/**/*.py", "optimizer/**/*.py", "space/**/*.py", "evaluation/**/*.py")


def open_cohorts(folder: Path) -> list[OpenCohort]:
    """What all pools of a folder teach whoever installs autoprog: the content of the shipped file.

    Copies of a study are left out, and pools with too few scores.
    """
    found = (_open_cohort(name, folder) for name in all_names(folder) if name not in COPIES)
    return [cohort for cohort in found if cohort is not None]


def others_of(cohort: str, folder: Path) -> list[CohortStatistics]:
    """Statistics of the cohorts of other families."""
    return _known(collect_statistics(other, folder) for other in _of_other_families(cohort, folder))


def _open_cohort(name: str, folder: Path) -> OpenCohort | None:
    pool, statistics = read(name, folder), collect_statistics(name, folder)
    if statistics is None:
        return None
    cohort = OpenCohort(family_of(name), plain_names(pool.features), statistics)
    return OpenCohort.from_json(rounded(cohort.to_json()))


def rounded(document: Any) -> Any:
    """A JSON document with its numbers, but for hyperparameters, rounded to `DECIMALS`; without a negative zero."""
    if isinstance(document, dict):
        return {name: value if name == "configuration" else rounded(value) for name, value in document.items()}
    if isinstance(document, list):
        return [rounded(value) for value in document]
    return round(document, DECIMALS) + 0.0 if isinstance(document, float) else document


@cache
def collect_statistics(name: str, folder: Path) -> CohortStatistics | None:
    """What a pool teaches, as a search with these evaluations would have, the last of all."""
    pool = read(name, folder)
    alone = _known(learnt_alone(other, folder) for other in _of_other_families(name, folder))
    comparable = comparable_statistics(alone, pool.shape.mode, pool.metric)
    kinds = pool.space.valid_kinds(pool.shape)
    return _learnt(pool, reference_pipelines(pool.meta_features, comparable, kinds))


def _of_other_families(cohort: str, folder: Path) -> list[str]:
    return [other for other in all_names(folder) if family_of(other) != family_of(cohort)]


def _known(statistics: Iterable[CohortStatistics | None]) -> list[CohortStatistics]:
    return [s for s in statistics if s is not None]


@cache
def learnt_alone(name: str, folder: Path) -> CohortStatistics | None:
    """What a pool teaches by itself, without the pipelines that others compare it by; None if it has too few scores."""
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
