"""Prediction of risks by a model's members, with missing values left as they are or drawn.

Missing values of features that training patients lacked, too, are left to the members, who learnt what that means.
Those of other features are drawn many times given the known ones. Intervals are by draws of all missing values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.ensemble import average
from autoprog.model.contributions import RisksAndCauses
from autoprog.performance import compute_logit
from autoprog.validation import mixture_bounds, shares_of_variance, with_competing

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

_REACH = 10.0

_Floats = NDArray[np.float64]
_Tables = Mapping[int, _Floats]

Table = _Floats | _Tables
"""Input of a model; for visits, one table per window length."""

ClipBounds = tuple[_Floats, _Floats]

N_DRAWS = 32
"""Draws of a patient's missing values."""

_CELLS_AT_ONCE = 10_000_000  # of a table as the members see it, a column for each level


@dataclass(frozen=True, eq=False)
class EnsemblePrediction:
    """Risks of some patients by a model's members."""

    # The patients, (n, n_features), clipped, with missing values as NaN; for visits, the longest window.
    X: _Floats
    # Recalibrated weighted mean, (n,) or (n, n_horizons).
    risks: _Floats
    # Risks of every cause, (n, n_causes, n_horizons); None if the outcome has no time.
    causes: _Floats | None = None
    # Ends of the intervals, (n, 2) or (n, n_horizons, 2); None if not requested, or the model has none.
    bounds: _Floats | None = None
    # Share of the variance of the log odds at the last horizon that knowing a missing value would remove, in [0, 1],
    # (n, n_features); 0 for a known value; None as `bounds`.
    widening: _Floats | None = None


def build_prediction(
    model: PrognosticModel,
    X: Table,
    times: Sequence[float] | None = None,
    *,
    bounds: bool = False,
    removed: NDArray[np.bool_] | None = None,
) -> EnsemblePrediction:
    """Predict risks until the given times or, by default, the horizons; intervals are for the horizons alone."""
    # `removed` marks cells, shape = (n, n_features), that were taken from a patient: they are drawn in any case.
    tables = X if isinstance(X, Mapping) else {0: X}
    tables = {w: np.clip(x, *model.clip_bounds) for w, x in tables.items()}
    longest = _longest(tables)
    bounds = bounds and bool(model.intervals)
    drawn = _cells_to_draw(model, longest, removed)
    # Intervals are by draws of all missing values, which a model of an earlier version cannot draw.
    over_draws = np.isnan(longest).any(axis=1) if bounds and model.distribution is not None else drawn.any(axis=1)
    width = sum(max(1, len(feature.levels or ())) for feature in model.features)
    given = _split(np.flatnonzero(~over_draws), width)
    if len(given) == 1 and not over_draws.any():
        return _predict_as_they_are(model, tables, times, bounds=bounds)
    parts = [
        (rows, _predict_as_they_are(model, _take(tables, rows), times, bounds=bounds)) for rows in given if len(rows)
    ]
    for rows in _split(np.flatnonzero(over_draws), N_DRAWS * width):
        if len(rows):
            some = _take(tables, rows)
            parts.append((rows, _predict_over_draws(model, some, drawn[rows], times, bounds=bounds)))
    return _in_order(parts, longest)


def _split(rows: NDArray[np.intp], cells: int) -> list[NDArray[np.intp]]:
    """Split rows of so many cells each, so that few patients of many features take no more memory than many of few."""
    return np.array_split(rows, max(1, -(-len(rows) * cells // _CELLS_AT_ONCE)))


def _cells_to_draw(model: PrognosticModel, longest: _Floats, removed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Missing cells over which the risk is averaged, shape = (n, n_features).

    The members learnt what it means to lack a feature that training patients lacked, and were validated with such
    patients. Of other features they know nothing: there, the risk is averaged over what the value might be.
    """
    if model.distribution is None:
        return np.zeros(longest.shape, dtype=bool)
    drawn: NDArray[np.bool_] = np.isnan(longest) & ~model.distribution.learnt_gaps
    return drawn if removed is None else drawn | removed


def _predict_as_they_are(
    model: PrognosticModel, tables: _Tables, times: Sequence[float] | None, *, bounds: bool
) -> EnsemblePrediction:
    """Predict with missing values left to the members."""
    X, found = _longest(tables), _ask_members(model, tables, times)
    if not bounds:
        return EnsemblePrediction(X, found.risks, found.causes)
    centre, spread = _log_odds(model, X, found)
    ends = mixture_bounds(centre[None], spread[None])
    return EnsemblePrediction(X, found.risks, found.causes, _around(ends, found.risks), np.zeros_like(X))


def _predict_over_draws(
    model: PrognosticModel,
    tables: _Tables,
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Average the risk over draws of some missing cells; intervals are by draws of all, moved to this risk."""
    assert model.distribution is not None  # noqa: S101  called only for a model with a distribution
    X = _longest(tables)
    unknown, completed = np.isnan(X), model.distribution.completed(X, N_DRAWS)
    if not bounds:
        return EnsemblePrediction(X, *_average_over_draws(model, tables, completed, drawn, times))
    of_draws = _draw(tables, completed, unknown)
    found = _ask_members(model, of_draws, times)
    centre, spread = (_by_draw(values) for values in _log_odds(model, _longest(of_draws), found))
    risks, causes = _mean_of_draws(found)
    last = (centre, spread) if centre.ndim == 2 else (centre[:, :, -1], spread[:, :, -1])
    widening = np.where(unknown, shares_of_variance(completed, *last), 0.0)
    if (unknown != drawn).any():
        averaged = risks
        risks, causes = _average_over_draws(model, tables, completed, drawn, times)
        centre = centre + compute_logit(risks) - compute_logit(averaged)
    return EnsemblePrediction(X, risks, causes, _around(mixture_bounds(centre, spread), risks), widening)


def _average_over_draws(
    model: PrognosticModel, tables: _Tables, completed: _Floats, drawn: NDArray[np.bool_], times: Sequence[float] | None
) -> RisksAndCauses:
    """Risks, and risks of every cause, averaged over draws of the marked cells."""
    risks, causes = _ask_members(model, tables, times)[:2]
    rows = np.flatnonzero(drawn.any(axis=1))
    if len(rows):
        some = _draw(_take(tables, rows), completed[:, rows], drawn[rows])
        risks[rows], of_causes = _mean_of_draws(_ask_members(model, some, times))
        if causes is not None and of_causes is not None:
            causes[rows] = of_causes
    return risks, causes


class _Found(NamedTuple):
    """Risks of some patients by the members; p, (t, n) or (t, n, H), and `averaged` are before the recalibration."""

    risks: _Floats
    causes: _Floats | None
    p: _Floats
    averaged: _Floats


def _ask_members(model: PrognosticModel, tables: _Tables, times: Sequence[float] | None) -> _Found:
    longest = _longest(tables)
    rows = [tables.get(m.window or 0, longest) for m in model.members]
    target, w = model.outcome.target, model.weights
    until = model.horizons if times is None else times
    # XGBoost answers in float32.
    F = np.array(
        [target.predict(m.estimator, x, until) for m, x in zip(model.members, rows, strict=True)], dtype=np.float64
    )
    p = target.of_interest(F)
    averaged = np.clip(average(w, p, model.scale), 0.0, 1.0)
    risks = model.recalibration.apply(averaged)
    causes = target.by_cause(average(w, F, "risk"), risks, partial(with_competing, maps=model.competing))
    return _Found(risks, causes, p, averaged)


def _log_odds(model: PrognosticModel, X: _Floats, found: _Found) -> tuple[_Floats, _Floats]:
    """Log odds of the risks and their standard deviations, both of the shape of the risks."""
    target = model.outcome.target
    curves, mean = target.as_curves(found.p), target.as_curves(found.averaged)
    spreads = [
        each.spread(X, curves[..., k], model.weights, mean[..., k], model.recalibration)
        for k, each in enumerate(model.intervals)
    ]
    # The centre is the risk itself: only the spread uses the clipped average.
    return compute_logit(found.risks), target.from_curves(np.stack(spreads, axis=-1))


def _longest(tables: _Tables) -> _Floats:
    return tables[max(tables)]


def _take(tables: _Tables, rows: NDArray[np.intp]) -> _Tables:
    return {w: x[rows] for w, x in tables.items()}


def _draw(tables: _Tables, completed: _Floats, drawn: NDArray[np.bool_]) -> _Tables:
    """Fill the marked cells with each draw, `completed` (n_draws, n, n_features): one table below another."""
    # A shorter window lacks what its visits do not show.
    return {w: np.where(drawn & np.isnan(x), completed, x).reshape(-1, x.shape[1]) for w, x in tables.items()}


def _by_draw(values: _Floats) -> _Floats:
    """Split results for the stacked tables of `_draw` by draw, shape = (n_draws, n, ...)."""
    return values.reshape(N_DRAWS, -1, *values.shape[1:])


def _mean_of_draws(found: _Found) -> RisksAndCauses:
    causes = None if found.causes is None else _by_draw(found.causes).mean(axis=0)
    return _by_draw(found.risks).mean(axis=0), causes


def _around(ends: _Floats, risks: _Floats) -> _Floats:
    """Widen intervals to hold the risk: a mean over skewed draws may lie beyond nine in ten of them."""
    return np.stack([np.minimum(ends[..., 0], risks), np.maximum(ends[..., 1], risks)], axis=-1)


def _in_order(parts: Sequence[tuple[NDArray[np.intp], EnsemblePrediction]], longest: _Floats) -> EnsemblePrediction:
    """Combine predictions for parts of the patients."""

    def whole(name: str) -> _Floats | None:
        found = [(rows, getattr(answer, name)) for rows, answer in parts]
        if any(part is None for _, part in found):
            return None
        told = np.empty((len(longest), *found[0][1].shape[1:]))
        for rows, part in found:
            told[rows] = part
        return told

    risks = whole("risks")
    assert risks is not None  # noqa: S101  always set
    return EnsemblePrediction(longest, risks, whole("causes"), whole("bounds"), whole("widening"))


def compute_clip_bounds(features: Sequence[Feature]) -> ClipBounds:
    """Bounds for clipping: the training range extended by ten times its width; infinite if a feature is no number."""
    lower = np.full(len(features), -np.inf)
    upper = np.full(len(features), np.inf)
    for j, feature in enumerate(features):
        if feature.minimum is not None and feature.maximum is not None:
            reach = _REACH * (feature.maximum - feature.minimum)
            lower[j], upper[j] = feature.minimum - reach, feature.maximum + reach
    return lower, upper
