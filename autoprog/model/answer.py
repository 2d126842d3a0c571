"""What the members of a model say of some patients: their risks, averaged and recalibrated.

Whoever lacks values is asked about many times, with draws of what they may be given the known ones; the risk is the
mean and the interval that of all draws together. A model of an earlier version leaves them to its members' imputations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.ensemble import average
from autoprog.evaluation import compute_logit, predict_risks
from autoprog.validation import mixture_bounds, shares_of_variance, with_competing

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

_REACH = 10.0

Table = NDArray[np.float64] | Mapping[int, NDArray[np.float64]]
"""Patients as a model takes them; of visits, what each length of window shows."""

ClipBounds = tuple[NDArray[np.float64], NDArray[np.float64]]

N_DRAWS = 32
"""Of the missing values of a patient."""

_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class EnsemblePrediction:
    """What the members say of some patients.

    Attributes
    ----------
    X : ndarray, shape = (n_patients, n_features)
        The patients as they are taken, missing values as NaN; of visits, the longest window.
    risks : ndarray, shape = (n_patients,) or (n_patients, n_horizons)
        The members' weighted mean, recalibrated; of a patient with missing values its mean over what they may be.
    causes : ndarray, shape = (n_patients, n_causes, n_horizons), or None
        Of every cause; None where the outcome has no time.
    bounds : ndarray, shape = (n_patients, 2) or (n_patients, n_horizons, 2), or None
        Lower and upper ends of the risks' intervals; None where they were not asked for or the model has none.
    widening : ndarray, shape = (n_patients, n_features), or None
        Share of the variance of the log odds that knowing a missing value would take away, in [0, 1], at the last
        horizon; 0 of a value that is known. None as `bounds`.
    """

    X: NDArray[np.float64]
    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None = None
    bounds: NDArray[np.float64] | None = None
    widening: NDArray[np.float64] | None = None


def build_prediction(
    model: PrognosticModel, X: Table, times: Sequence[float] | None = None, *, bounds: bool = False
) -> EnsemblePrediction:
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
    bounds : bool
        Whether to give intervals, of the horizons alone.

    Returns
    -------
    EnsemblePrediction
        Patients in order.
    """
    tables = X if isinstance(X, Mapping) else {0: X}
    tables = {w: np.clip(x, *model.clip_bounds) for w, x in tables.items()}
    longest = tables[max(tables)]
    bounds = bounds and bool(model.intervals)
    gaps = np.isnan(longest).any(axis=1)
    if model.distribution is None or not gaps.any():
        return _answer_as_they_are(model, tables, longest, times, bounds=bounds)
    parts = []
    if not gaps.all():
        whole = {w: x[~gaps] for w, x in tables.items()}
        parts.append((np.flatnonzero(~gaps), _answer_as_they_are(model, whole, longest[~gaps], times, bounds=bounds)))
    rows = np.flatnonzero(gaps)
    for chunk in np.array_split(rows, -(-len(rows) * N_DRAWS // _ROWS_AT_ONCE)):
        some = {w: x[chunk] for w, x in tables.items()}
        parts.append((chunk, _answer_over_draws(model, some, longest[chunk], times, bounds=bounds)))
    return _in_order(parts, longest)


class _Told(NamedTuple):
    """What the members say of patients as they are; `centre` and `spread` are of the log odds, where asked for."""

    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None
    centre: NDArray[np.float64] | None
    spread: NDArray[np.float64] | None


def _told(
    model: PrognosticModel, tables: Mapping[int, NDArray[np.float64]], times: Sequence[float] | None, *, spread: bool
) -> _Told:
    longest = tables[max(tables)]
    rows = [tables.get(m.window or 0, longest) for m in model.members]
    if not model.horizons:
        # XGBoost answers in float32.
        p = np.array(
            [predict_risks(m.estimator, x) for m, x in zip(model.members, rows, strict=True)], dtype=np.float64
        )
        averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
        causes, risks = None, model.recalibration.apply(averaged)
    else:
        t = np.array(model.horizons if times is None else times)
        F = np.array([m.estimator.cumulative_incidence(x, t) for m, x in zip(model.members, rows, strict=True)])
        p = F[:, :, 0]
        averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
        risks = model.recalibration.apply(averaged)
        causes = with_competing(average(model.weights, F, "risk"), risks, model.competing)
    if not spread:
        return _Told(risks, causes, None, None)
    arguments = (model.weights, averaged, model.recalibration)
    if not model.horizons:
        found = model.intervals[0].spread(longest, p, *arguments)
    else:
        found = np.column_stack(
            [
                each.spread(longest, p[:, :, k], model.weights, averaged[:, k], model.recalibration)
                for k, each in enumerate(model.intervals)
            ]
        )
    # Centred where the risk is: what is cut of the average serves the spread alone.
    return _Told(risks, causes, compute_logit(risks), found)


def _answer_as_they_are(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Missing values, if any, are left to the members' imputations."""
    told = _told(model, tables, times, spread=bounds)
    if told.centre is None or told.spread is None:
        return EnsemblePrediction(longest, told.risks, told.causes)
    ends = mixture_bounds(told.centre[None], told.spread[None])
    return EnsemblePrediction(longest, told.risks, told.causes, _around(ends, told.risks), np.zeros_like(longest))


def _answer_over_draws(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """The mean over what missing values may be; a shorter window lacks what its visits do not show."""
    assert model.distribution is not None  # noqa: S101  asked for with one alone
    drawn = model.distribution.completed(longest, N_DRAWS)
    unknown = np.isnan(longest)
    flat = {w: np.where(unknown & np.isnan(x), drawn, x).reshape(-1, longest.shape[1]) for w, x in tables.items()}
    told = _told(model, flat, times, spread=bounds)
    risks, causes, centre, spread = (
        None if each is None else each.reshape(N_DRAWS, len(longest), *each.shape[1:]) for each in told
    )
    assert risks is not None  # noqa: S101  always told
    mean = risks.mean(axis=0)
    of_causes = None if causes is None else causes.mean(axis=0)
    if centre is None or spread is None:
        return EnsemblePrediction(longest, mean, of_causes)
    last = (centre, spread) if centre.ndim == 2 else (centre[:, :, -1], spread[:, :, -1])
    shares = np.where(unknown, shares_of_variance(drawn, *last), 0.0)
    return EnsemblePrediction(longest, mean, of_causes, _around(mixture_bounds(centre, spread), mean), shares)


def _around(ends: NDArray[np.float64], risks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ends of intervals that hold the risk: a mean over skewed draws may lie beyond nine in ten of them."""
    return np.stack([np.minimum(ends[..., 0], risks), np.maximum(ends[..., 1], risks)], axis=-1)


def _in_order(
    parts: Sequence[tuple[NDArray[np.intp], EnsemblePrediction]], longest: NDArray[np.float64]
) -> EnsemblePrediction:
    """The answers about some patients each, as one."""

    def whole(name: str) -> NDArray[np.float64] | None:
        found = [(rows, getattr(answer, name)) for rows, answer in parts]
        if any(part is None for _, part in found):
            return None
        told = np.empty((len(longest), *found[0][1].shape[1:]))
        for rows, part in found:
            told[rows] = part
        return told

    risks = whole("risks")
    assert risks is not None  # noqa: S101  always told
    return EnsemblePrediction(longest, risks, whole("causes"), whole("bounds"), whole("widening"))


def compute_clip_bounds(features: Sequence[Feature]) -> ClipBounds:
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
