"""Functions that a search sends to the engine's child processes."""

from __future__ import annotations

import hashlib
import warnings
from functools import lru_cache
from pathlib import Path

import fsspec
import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, from_parquet
from autoprog.errors import ArtifactError
from autoprog.evaluation import (
    FoldResult,
    Plan,
    PrefixMemory,
    evaluate_fold,
    evaluate_out_of_bag,
    fit_pipeline,
    is_out_of_bag,
)
from autoprog.model import dump_estimator
from autoprog.performance import bootstrap_rows
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration
from autoprog.space.threads import lend_threads

# Separates the draws of resamples from those of the folds, which have the same seed.
_RESAMPLES_STREAM = 2**31

_scratch: list[Path] = []
_threads = [1]


@lru_cache(maxsize=2)
def load_cohort(ref: CohortRef) -> Cohort:
    """Read a stored cohort, cached in the process; raises ArtifactError if the file is missing or altered."""
    try:
        with fsspec.open(ref.url, "rb") as file:
            content: bytes = file.read()
    except FileNotFoundError as error:
        raise ArtifactError(f"the file of cohort {ref.sha256[:12]} is missing") from error
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise ArtifactError(f"the file of cohort {ref.sha256[:12]} was altered after it was stored")
    return from_parquet(content)


def prepare(scratch: Path, threads: int) -> None:
    """Set the folder, private to the worker, that its child processes share, and the most threads of one call."""
    _scratch.append(scratch)
    _threads.append(threads)


def evaluate_folds(
    ref: CohortRef, configuration: Configuration, plan: Plan, folds: tuple[int, ...]
) -> tuple[FoldResult, ...]:
    """Evaluate folds of a stored cohort in order, up to the first that raises; raise if none came before it."""
    cohort = load_cohort(ref)
    memory = PrefixMemory(_scratch[-1]) if _scratch else None
    if is_out_of_bag(configuration, plan.sample(cohort, configuration)):
        of_all = evaluate_out_of_bag(configuration, cohort, plan, memory)
        return tuple(of_all[number] for number in folds)
    results: list[FoldResult] = []
    for number in folds:
        try:
            results.append(evaluate_fold(configuration, cohort, plan, number, memory))
        except MemoryError:
            raise
        except Exception:  # a later fold's error is raised when the fold is asked for first
            if not results:
                raise
            break
    return tuple(results)


def fit(ref: CohortRef, configuration: Configuration, plan: Plan, threads: int = 1) -> bytes:
    """Fit a configuration to all patients that the plan uses; the result is as `dump_estimator` writes it."""
    cohort = plan.sample(load_cohort(ref), configuration)
    with warnings.catch_warnings(), lend_threads(min(threads, _threads[-1])):
        warnings.simplefilter("ignore")  # recorded when it was evaluated
        # The plan's folds set the caps that the configuration was evaluated with.
        pipeline = fit_pipeline(configuration, cohort, np.arange(cohort.n_rows), plan, plan.seed)
    return dump_estimator(pipeline)


def refit_on_resample(
    ref: CohortRef, configuration: Configuration, plan: Plan, number: int, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Fit to bootstrap sample `number`, and predict the risks of `rows` at each horizon; NaN for those drawn."""
    cohort = plan.sample(load_cohort(ref), configuration)
    rng = np.random.default_rng([plan.seed, _RESAMPLES_STREAM, number])
    drawn = bootstrap_rows(cohort.y, cohort.groups, rng)
    left_out = ~np.isin(rows, drawn)
    target, horizons = cohort.target, cohort.horizons
    risks = target.empty_risks(len(rows), horizons).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recorded when it was evaluated
        pipeline = fit_pipeline(configuration, cohort, drawn, plan, plan.seed)
        if left_out.any():
            risks[left_out] = target.predict_risks(pipeline, cohort.X[rows[left_out]], horizons)
    return risks
