"""Performance of risk curves, corrected for the choice of the ensemble's weights.

Symbols: y event codes and times (n,); F risk of the event of interest until the times of the search (n, T).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance import (
    EVENT_METRICS,
    ScoringContext,
    make_event_metric,
    measured_name,
)
from autoprog.survival import HorizonError, Interval, NoEventError, NoPairError, brier_score, cumulative_dynamic_auc
from autoprog.validation.corrections import shift_skill
from autoprog.validation.optimism import Correction, Figure

_Floats = NDArray[np.float64]


def event_figures(follow_up: ScoringContext) -> tuple[Figure, ...]:
    """Figures that a correction covers: every event metric, and `auc@k` and `brier@k` of horizon k, from 0."""
    found = []
    for name in EVENT_METRICS:
        metric = make_event_metric(name, follow_up)
        found.append(Figure(name, _where_defined(metric.score), metric.ranks_only, metric.lower, metric.upper))
    for k, (horizon, column) in enumerate(zip(follow_up.horizons, follow_up.at_horizons, strict=True)):
        for name, measure in (("auc", cumulative_dynamic_auc), ("brier", brier_score)):
            score, most = _where_defined(_at_horizon(measure, horizon, column)), 1.0 if name == "auc" else math.inf
            found.append(Figure(f"{name}@{k}", score, name == "auc", 0.0, most, name))
    return tuple(found)


def correct_overall(found: Mapping[str, float], follow_up: ScoringContext, correction: Correction) -> dict[str, Any]:
    """Correct `overall_performance` for the choice of the weights, and add `intervals` and `uncorrected`."""
    names = {measured_name(name, follow_up): name for name in EVENT_METRICS}
    estimates = {shown: correction.correct(name, found[shown]) for shown, name in names.items()}
    changed = {shown: estimate for shown, estimate in estimates.items() if estimate is not None}
    return {**found, **_with_ends(changed), "uncorrected": {shown: found[shown] for shown in changed}}


def correct_horizons(documents: Sequence[dict[str, Any]], correction: Correction) -> None:
    """Correct performance and gains of `horizon_documents` for the choice of the weights, in place."""
    for k, document in enumerate(documents):
        told = document["performance"]
        estimates = {name: correction.correct(f"{name}@{k}", told[name]) for name in ("auc", "brier")}
        changed = {name: estimate for name, estimate in estimates.items() if estimate is not None}
        if "brier" in changed:
            skill = Interval(told["brier_skill"], **told["intervals"]["brier_skill"])
            changed["brier_skill"] = shift_skill(skill, told["brier"], changed["brier"].estimate)
        told["uncorrected"] = {name: told[name] for name in changed}
        ends = _with_ends(changed)
        told.update({name: value for name, value in ends.items() if name != "intervals"})
        told["intervals"].update(ends["intervals"])
        for name, gain in (document["gain_over_baseline"] or {}).items():
            corrected = correction.correct_gain(f"{name}@{k}", gain["estimate"])
            document["gain_over_baseline"][name] = gain if corrected is None else corrected.to_json()


def _at_horizon(
    measure: Callable[..., _Floats], horizon: float, column: int
) -> Callable[[NDArray[Any], _Floats], float]:
    return lambda y, F: float(measure(y["time"], y["event"], F[:, [column]], np.array([horizon]))[0])


def _where_defined(score: Callable[[NDArray[Any], _Floats], float]) -> Callable[[NDArray[Any], _Floats], float]:
    """The same score, NaN where nobody is followed, or nobody can be compared."""

    def or_nan(y: NDArray[Any], F: _Floats) -> float:
        try:
            return score(y, F)
        except (HorizonError, NoEventError, NoPairError):
            return math.nan

    return or_nan


def _with_ends(estimates: Mapping[str, Interval]) -> dict[str, Any]:
    ends = {name: {"lower": found.lower, "upper": found.upper} for name, found in estimates.items()}
    return {**{name: found.estimate for name, found in estimates.items()}, "intervals": ends}
