"""The functions that a search sends to the engine's child processes."""

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
    predict_risks,
)
from autoprog.model import dump_estimator
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration
from autoprog.validation import bootstrap_rows

# Of the draws of resamples, apart from those of the folds, which have the same seed.
_RESAMPLES_STREAM = 2**31

_scratch: list[Path] = []


@lru_cache(maxsize=2)
def load_cohort(ref: CohortRef) -> Cohort:
    """Read a stored cohort and check its digest; kept in the process for the next call.

    Parameters
    ----------
    ref : CohortRef
        Where it lies.

    Returns
    -------
    Cohort
        The patients.

    Raises
    ------
    ArtifactError
        If the file is missing or is not what was stored.
    """
    try:
        with fsspec.open(ref.url, "rb") as file:
            content: bytes = file.read()
    except FileNotFoundError as error:
        raise ArtifactError(f"the file of cohort {ref.sha256[:12]} is missing") from error
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise ArtifactError(f"the file of cohort {ref.sha256[:12]} was altered after it was stored")
    return from_parquet(content)


def prepare(scratch: Path) -> None:
    """Tell this child process where its worker's children keep what they share.

    Parameters
    ----------
    scratch : pathlib.Path
        A folder that is private to the worker.
    """
    _scratch.append(scratch)


def evaluate_folds(
    ref: CohortRef, configuration: Configuration, plan: Plan, folds: tuple[int, ...]
) -> tuple[FoldResult, ...]:
    """Evaluate a configuration on some folds of a stored cohort, one after another.

    Parameters
    ----------
    ref : CohortRef
        The patients.
    configuration : Configuration
        The pipeline.
    plan : Plan
        The search's.
    folds : tuple of int
        Numbers of the folds, at least one.

    Returns
    -------
    tuple of FoldResult
        Of the folds in their order; those before the first that raises, where a later one raises.

    Raises
    ------
    Exception
        Whatever the first fold raises.
    """
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
        except Exception:
            if not results:
                raise
            break
    return tuple(results)


def fit(ref: CohortRef, configuration: Configuration, plan: Plan) -> bytes:
    """Fit a configuration to all patients of a stored cohort that the plan uses.

    Parameters
    ----------
    ref : CohortRef
        The patients.
    configuration : Configuration
        The pipeline.
    plan : Plan
        The search's; its seed seeds the pipeline, its folds the caps that it was evaluated with.

    Returns
    -------
    bytes
        The fitted pipeline, as `dump_estimator` writes it.
    """
    cohort = plan.sample(load_cohort(ref), configuration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recorded when it was evaluated
        pipeline = fit_pipeline(configuration, cohort, np.arange(cohort.n_rows), plan, plan.seed)
    return dump_estimator(pipeline)


def refit_on_resample(
    ref: CohortRef, configuration: Configuration, plan: Plan, number: int, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Fit a configuration to a bootstrap sample and ask it about patients who are not in it.

    Parameters
    ----------
    ref : CohortRef
        The patients.
    configuration : Configuration
        The pipeline.
    plan : Plan
        As of `fit`.
    number : int
        Of the sample: the same number gives the same one.
    rows : ndarray of int
        Whom to ask about, of the patients that the plan uses.

    Returns
    -------
    ndarray, shape = (len(rows),) or (len(rows), n_horizons)
        Risks; NaN for patients who were drawn.
    """
    cohort = plan.sample(load_cohort(ref), configuration)
    rng = np.random.default_rng([plan.seed, _RESAMPLES_STREAM, number])
    drawn = bootstrap_rows(cohort.y, cohort.groups, rng)
    left_out = ~np.isin(rows, drawn)
    horizons = cohort.horizons
    risks = np.full((len(rows), len(horizons)) if horizons else len(rows), np.nan, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recorded when it was evaluated
        pipeline = fit_pipeline(configuration, cohort, drawn, plan, plan.seed)
        if left_out.any():
            risks[left_out] = predict_risks(pipeline, cohort.X[rows[left_out]], horizons)
    return risks
