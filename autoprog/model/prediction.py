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
from autoprog.performance import compute_logit
from autoprog.validation import mixture_bounds, shares_of_variance, with_competing

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

_REACH = 10.0

Table = NDArray[np.float64] | Mapping[int, NDArray[np.float64]]
"""Input of a model; for visits, one table per window length."""

ClipBounds = tuple[NDArray[np.float64], NDArray[np.float64]]

N_DRAWS = 32
"""Draws of a patient's missing values."""

_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class EnsemblePrediction:
    """Risks of some patients by a model's members."""

    # The patients, (n, n_features), clipped, with missing values as NaN; for visits, the longest window.
    X: NDArray[np.float64]
    # Recalibrated weighted mean, (n,) or (n, n_horizons).
    risks: NDArray[np.float64]
    # Risks of every cause, (n, n_causes, n_horizons); None if the outcome has no time.
    causes: NDArray[np.float64] | None = None
    # Ends of the intervals, (n, 2) or (n, n_horizons, 2); None if not requested, or the model has none.
    bounds: NDArray[np.float64] | None = None
    # Share of the variance of the log odds at the last horizon that knowing a missing value would remove, in [0, 1],
    # (n, n_features); 0 for a known value; None as `bounds`.
    widening: NDArray[np.float64] | None = None


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
    longest = tables[max(tables)]
    bounds = bounds and bool(model.intervals)
    drawn = _cells_to_draw(model, longest, removed)
    over_draws = np.isnan(longest).any(axis=1) if bounds and model.distribution is not None else drawn.any(axis=1)
    if not over_draws.any():
        return _answer_as_they_are(model, tables, longest, times, bounds=bounds)
    parts = []
    if not over_draws.all():
        rest = {w: x[~over_draws] for w, x in tables.items()}
        answer = _answer_as_they_are(model, rest, longest[~over_draws], times, bounds=bounds)
        parts.append((np.flatnonzero(~over_draws), answer))
    rows = np.flatnonzero(over_draws)
    for chunk in np.array_split(rows, -(-len(rows) * N_DRAWS // _ROWS_AT_ONCE)):
        some = {w: x[chunk] for w, x in tables.items()}
        parts.append((chunk, _answer_over_draws(model, some, longest[chunk], drawn[chunk], times, bounds=bounds)))
    return _in_order(parts, longest)


def _cells_to_draw(
    model: PrognosticModel, longest: NDArray[np.float64], removed: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Missing cells over which the risk is averaged, shape = (n, n_features).

    The members learnt what it means to lack a feature that training patients lacked, and were validated with such
    patients. Of other features they know nothing: there, the risk is averaged over what the value might be.
    """
    if model.distribution is None:
        return np.zeros(longest.shape, dtype=bool)
    drawn: NDArray[np.bool_] = np.isnan(longest) & ~model.distribution.learnt_gaps
    return drawn if removed is None else drawn | removed


class _Told(NamedTuple):
    """Predictions for patients as they are; `centre` and `spread` are of the log odds, if requested."""

    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None
    centre: NDArray[np.float64] | None
    spread: NDArray[np.float64] | None


def _told(
    model: PrognosticModel, tables: Mapping[int, NDArray[np.float64]], times: Sequence[float] | None, *, spread: bool
) -> _Told:
    longest = tables[max(tables)]
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
    if not spread:
        return _Told(risks, causes, None, None)
    curves, mean = target.as_curves(p), target.as_curves(averaged)
    spreads = [
        each.spread(longest, curves[..., k], w, mean[..., k], model.recalibration)
        for k, each in enumerate(model.intervals)
    ]
    found = target.from_curves(np.stack(spreads, axis=-1))
    # The centre is the risk itself: only the spread uses the clipped average.
    return _Told(risks, causes, compute_logit(risks), found)


def _answer_as_they_are(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Predict with missing values left to the members' imputations."""
    told = _told(model, tables, times, spread=bounds)
    if told.centre is None or told.spread is None:
        return EnsemblePrediction(longest, told.risks, told.causes)
    ends = mixture_bounds(told.centre[None], told.spread[None])
    return EnsemblePrediction(longest, told.risks, told.causes, _around(ends, told.risks), np.zeros_like(longest))


def _answer_over_draws(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Average the risk over draws of some missing cells; intervals are by draws of all, moved to this risk.

    A shorter window lacks what its visits do not show.
    """
    assert model.distribution is not None  # noqa: S101  called only for a model with a distribution
    completed = model.distribution.completed(longest, N_DRAWS)
    unknown = np.isnan(longest)
    all_drawn = bool((unknown == drawn).all())
    if not (bounds and all_drawn):
        risks, causes = _partly_drawn(model, tables, completed, drawn, times)
    if not bounds:
        return EnsemblePrediction(longest, risks, causes)
    averaged, of_causes, centre, spread = _over_draws(model, tables, completed, unknown, times, spread=True)
    assert centre is not None  # noqa: S101  asked for
    assert spread is not None  # noqa: S101  asked for
    last = (centre, spread) if centre.ndim == 2 else (centre[:, :, -1], spread[:, :, -1])
    shares = np.where(unknown, shares_of_variance(completed, *last), 0.0)
    if all_drawn:
        risks, causes = averaged, of_causes
    else:
        centre = centre + compute_logit(risks) - compute_logit(averaged)
    return EnsemblePrediction(longest, risks, causes, _around(mixture_bounds(centre, spread), risks), shares)


def _partly_drawn(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    completed: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Risks and risks of every cause, averaged over draws of the marked cells."""
    risks, causes, _, _ = _told(model, tables, times, spread=False)
    rows = drawn.any(axis=1)
    if rows.any():
        some = {w: x[rows] for w, x in tables.items()}
        mean, of_causes, _, _ = _over_draws(model, some, completed[:, rows], drawn[rows], times, spread=False)
        risks[rows] = mean
        if causes is not None and of_causes is not None:
            causes[rows] = of_causes
    return risks, causes


def _over_draws(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    completed: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
    *,
    spread: bool,
) -> _Told:
    """Predict with the marked cells drawn: mean risks, and centre and spread by draw, shape = (n_draws, n, ...)."""
    n, m = drawn.shape
    flat = {w: np.where(drawn & np.isnan(x), completed, x).reshape(-1, m) for w, x in tables.items()}
    told = _told(model, flat, times, spread=spread)
    risks, causes, centre, spreads = (
        None if each is None else each.reshape(N_DRAWS, n, *each.shape[1:]) for each in told
    )
    assert risks is not None  # noqa: S101  always set
    return _Told(risks.mean(axis=0), None if causes is None else causes.mean(axis=0), centre, spreads)


def _around(ends: NDArray[np.float64], risks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Widen intervals to hold the risk: a mean over skewed draws may lie beyond nine in ten of them."""
    return np.stack([np.minimum(ends[..., 0], risks), np.maximum(ends[..., 1], risks)], axis=-1)


def _in_order(
    parts: Sequence[tuple[NDArray[np.intp], EnsemblePrediction]], longest: NDArray[np.float64]
) -> EnsemblePrediction:
    """Combine predictions for parts of the patients."""

    def whole(name: str) -> NDArray[np.float64] | None:
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
