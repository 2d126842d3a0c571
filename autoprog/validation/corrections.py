"""Measures and gains of a model corrected for the choice of its weights by the same patients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance import METRICS, make_metric
from autoprog.performance.influence import standard_error
from autoprog.performance.measures import Performance
from autoprog.performance.score import influence_on, make_interval, n_rarer
from autoprog.survival import Interval
from autoprog.validation.optimism import Correction


def correct_performance(found: Performance, correction: Correction) -> Performance:
    """Correct the measures of an ensemble for the choice of its weights by the same patients.

    Parameters
    ----------
    found : Performance
        Of the ensemble's out-of-fold risks.
    correction : Correction
        From `corrected_score`. Calibration is left as it is: the delivered recalibration is not chosen.

    Returns
    -------
    Performance
        With `uncorrected`; the Brier skill moves with the Brier score.
    """
    names = [name for name in found.intervals if name in correction.figures]
    corrected = {name: correction.correct(name, getattr(found, name)) for name in names}
    changed = {name: estimate for name, estimate in corrected.items() if estimate is not None}
    if "brier" in changed:
        changed["brier_skill"] = shift_skill(found.intervals["brier_skill"], found.brier, changed["brier"].estimate)
    values: dict[str, Any] = {name: estimate.estimate for name, estimate in changed.items()}
    return replace(
        found,
        **values,
        intervals={**found.intervals, **changed},
        uncorrected={name: getattr(found, name) for name in changed},
    )


def shift_skill(skill: Interval, brier: float, corrected: float) -> Interval:
    """Move a Brier skill, 1 - Brier / Brier of the event rate, as its Brier score is corrected."""
    by = 0.0 if brier == 0 else (corrected - brier) * (1 - skill.estimate) / brier
    return Interval(skill.estimate - by, skill.lower - by, min(1.0, skill.upper - by))


def compute_gains(
    y: NDArray[np.integer],
    model: tuple[NDArray[np.floating], NDArray[np.floating]],
    baseline: tuple[NDArray[np.floating], NDArray[np.floating]],
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
    correction: Correction | None = None,
) -> dict[str, Interval]:
    """Compute by how much a model beats the simple pipeline on the same patients.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1; at least 2 of each.
    model, baseline : pair of ndarray, each shape = (n_patients,)
        Risks for rank measures, and risks for the other measures.
    thresholds, groups
        As `compute_performance` takes them.
    correction : Correction, optional
        Of a model whose weights were chosen by the same patients, from `corrected_score`.

    Returns
    -------
    dict of str to Interval
        Model less baseline, in the measure's own direction, for `auc_roc`, `brier` and `net_benefit`.
    """
    found: dict[str, Interval] = {}
    for metric in (METRICS["auc_roc"], METRICS["brier"], make_metric("net_benefit", thresholds)):
        mine, its = (
            np.asarray(ranked if metric.ranks_only else valued, dtype=np.float64)
            for ranked, valued in (model, baseline)
        )
        difference = metric.score(y, mine) - metric.score(y, its)
        error = standard_error(influence_on(metric, y, mine) - influence_on(metric, y, its), groups)
        uncorrected = make_interval("difference", difference, error, n_rarer(y, groups))
        corrected = None if correction is None else correction.correct_gain(metric.name, difference)
        found[metric.name] = corrected or uncorrected
    return found
