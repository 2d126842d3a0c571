"""The functions that a search sends to the engine's child processes."""

from __future__ import annotations

import hashlib
import warnings
from functools import lru_cache

import fsspec

from autoprog.cohort import Cohort, from_parquet
from autoprog.errors import ArtifactError
from autoprog.evaluation import CrossValidation, Plan, cross_validate
from autoprog.model import dump_estimator
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration, TableShape, build_pipeline


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


def evaluate(ref: CohortRef, configuration: Configuration, plan: Plan) -> CrossValidation:
    """Cross-validate a configuration on a stored cohort; see `cross_validate`."""
    return cross_validate(configuration, load_cohort(ref), plan)


def fit(ref: CohortRef, configuration: Configuration, plan: Plan) -> bytes:
    """Fit a configuration to all patients of a stored cohort.

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
    cohort = load_cohort(ref)
    pipeline = build_pipeline(configuration, cohort.features, TableShape.of(cohort, plan.folds), plan.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(cohort.X, cohort.y)
    return dump_estimator(pipeline)
