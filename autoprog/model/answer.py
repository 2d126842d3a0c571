"""What the members of a model say of some patients: their risks, averaged and recalibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.ensemble import average
from autoprog.evaluation import risks_of
from autoprog.validation import with_competing

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

_REACH = 10.0

Table = NDArray[np.float64] | Mapping[int, NDArray[np.float64]]
"""Patients as a model takes them; of visits, what each length of window shows."""

Reach = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Answer:
    """What the members say of some patients.

    Attributes
    ----------
    X : ndarray, shape = (n_patients, n_features)
        The patients as they are taken; of visits, the longest window.
    p : ndarray, shape = (t, n_patients) or (t, n_patients, n_horizons)
        The members' risks.
    averaged : ndarray, shape = (n_patients,) or (n_patients, n_horizons)
        Their weighted mean.
    risks : ndarray of the same shape
        Recalibrated.
    causes : ndarray, shape = (n_patients, n_causes, n_horizons), or None
        Of every cause; None where the outcome has no time.
    """

    X: NDArray[np.float64]
    p: NDArray[np.float64]
    averaged: NDArray[np.float64]
    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None = None


def answer_of(model: PrognosticModel, X: Table, times: Sequence[float] | None = None) -> Answer:
    """Ask the members of a model about patients.

    Parameters
    ----------
    model : PrognosticModel
        Whose members.
    X : ndarray or mapping of int to ndarray
        As `PrognosticModel.risks` takes it.
    times : sequence of float or None
        Until which to give risks, ascending, up to the last horizon; None for the horizons. Nothing of them is asked
        where the outcome has no time.

    Returns
    -------
    Answer
        Patients in order.
    """
    tables = {w: np.clip(x, *model.reach) for w, x in (X.items() if isinstance(X, Mapping) else [(None, X)])}
    longest = tables[max(tables, key=lambda w: w or 0)]
    rows = [tables[m.window if isinstance(X, Mapping) else None] for m in model.members]
    if not model.horizons:
        # XGBoost answers in float32.
        p = np.array([risks_of(m.estimator, x) for m, x in zip(model.members, rows, strict=True)], dtype=np.float64)
        averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
        return Answer(longest, p, averaged, model.recalibration.apply(averaged))
    t = np.array(model.horizons if times is None else times)
    F = np.array([m.estimator.cumulative_incidence(x, t) for m, x in zip(model.members, rows, strict=True)])
    p = F[:, :, 0]
    averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
    risks = model.recalibration.apply(averaged)
    causes = with_competing(average(model.weights, F, "risk"), risks, model.competing)
    return Answer(longest, p, averaged, risks, causes)


def bounds_of(model: PrognosticModel, answer: Answer) -> NDArray[np.float64] | None:
    """How uncertain the risks of an answer are.

    Parameters
    ----------
    model : PrognosticModel
        Whose answer.
    answer : Answer
        With the risks of all its horizons, where it has some.

    Returns
    -------
    ndarray, shape = (n_patients, 2) or (n_patients, n_horizons, 2), or None
        Lower and upper ends; None where the model has no intervals.
    """
    if not model.intervals:
        return None
    X, w = answer.X, model.weights
    if not model.horizons:
        return model.intervals[0].bounds(X, answer.p, w, answer.averaged, model.recalibration)
    of_horizons = [
        each.bounds(X, answer.p[:, :, k], w, answer.averaged[:, k], model.recalibration)
        for k, each in enumerate(model.intervals)
    ]
    return np.stack(of_horizons, axis=1)


def reach_of(features: Sequence[Feature]) -> Reach:
    """Between which values every feature is taken as it is.

    Parameters
    ----------
    features : sequence of Feature, length n_features
        With their training ranges.

    Returns
    -------
    lower, upper : ndarray, shape = (n_features,)
        Ten times the training range beyond it; infinite for a feature that is no number.
    """
    lower = np.full(len(features), -np.inf)
    upper = np.full(len(features), np.inf)
    for j, feature in enumerate(features):
        if feature.minimum is not None and feature.maximum is not None:
            reach = _REACH * (feature.maximum - feature.minimum)
            lower[j], upper[j] = feature.minimum - reach, feature.maximum + reach
    return lower, upper
