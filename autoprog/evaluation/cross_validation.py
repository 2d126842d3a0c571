"""Cross-validating one configuration: every stage is fitted inside the training fold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.evaluation.folds import make_folds
from autoprog.evaluation.metrics import METRICS
from autoprog.space import Configuration, TableShape, build_pipeline


@dataclass(frozen=True, slots=True)
class Plan:
    """How every configuration of a search is evaluated.

    Attributes
    ----------
    metric : str
        Key of `METRICS`.
    folds, repeats : int
        See `make_folds`.
    seed : int
        Seeds the folds and, with the fold's place, the pipelines.
    """

    metric: str
    folds: int
    repeats: int
    seed: int


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores and risks of one configuration.

    Attributes
    ----------
    fold_scores : tuple of float, length repeats x folds
        In the metric's own direction, repeats one after another.
    risks : ndarray, shape = (n_patients,)
        float32; out-of-fold risk of every patient in the first repeat. A mean over repeats would be that of several
        fits, and better than the one that is delivered.
    """

    fold_scores: tuple[float, ...]
    risks: NDArray[np.float32]

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))


def cross_validate(configuration: Configuration, cohort: Cohort, plan: Plan) -> CrossValidation:
    """Score a configuration on the folds of a search.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohort : Cohort
        The patients.
    plan : Plan
        Folds, repeats, metric, seed.

    Returns
    -------
    CrossValidation
        Scores and out-of-fold risks.

    Raises
    ------
    ValueError
        Where the pipeline cannot be fitted, or gives risks that are not probabilities.
    """
    metric = METRICS[plan.metric]
    shape = TableShape.of(cohort, plan.folds)
    partitions = make_folds(cohort, plan.folds, plan.repeats, plan.seed)
    risks = np.zeros((plan.repeats, cohort.n_patients))
    scores = []
    for repeat, partition in enumerate(partitions):
        for number, fold in enumerate(partition):
            seed = int(np.random.SeedSequence([plan.seed, repeat, number]).generate_state(1)[0])
            pipeline = build_pipeline(configuration, cohort.features, shape, seed)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # what a learner mutters on one fold says nothing that its score does not
                pipeline.fit(cohort.X[fold.train], cohort.y[fold.train])
                fold_risks = pipeline.predict_proba(cohort.X[fold.test])[:, 1]
            risks[repeat, fold.test] = _checked(fold_risks)
            scores.append(_finite(metric.score(cohort.y[fold.test], risks[repeat, fold.test]), metric.name))
    return CrossValidation(tuple(scores), risks[0].astype(np.float32))


def _finite(score: float, metric: str) -> float:
    if not np.isfinite(score):
        msg = f"{metric} is not defined on a fold"
        raise ValueError(msg)
    return score


def _checked(risks: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    if not np.isfinite(risks).all() or risks.min() < 0.0 or risks.max() > 1.0:
        msg = f"the pipeline gave risks outside [0, 1]: from {risks.min()} to {risks.max()}"
        raise ValueError(msg)
    return risks.astype(np.float64)
