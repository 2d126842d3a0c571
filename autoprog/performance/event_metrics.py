"""Measures of risk curves that a search with event times can optimise.

    y        event codes and times, of dtype `EVENT_TIMES`                                (n,)
    F        risk of the event of interest until t                                        (n, T)
    t        times of the search, the horizons among them, the last horizon the last      (T,)
    tau      the last horizon                                                             scalar
    G        survival of the censoring time among all patients of the search              function

Both concordances rank patients by their risk until tau. Uno's counts pairs whose first event comes by tau, weighted by
1/G(T-)^2; with competing risks it is Wolbers's, which counts a patient with another event first as later than all
events of interest. Harrell's takes every pair that censoring leaves comparable, with other events as censoring. The AUC
is the mean over the horizons, with competing events as controls. The Brier score is integrated by the trapezoid rule
from the first time to tau and divided by that length; for a single time it is the score at that time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.performance.metrics import METRICS, Metric
from autoprog.survival import (
    StepFunction,
    brier_score,
    cause_specific_c,
    censoring_survival,
    cumulative_dynamic_auc,
    integrated_brier,
    uno_c,
    wolbers_c,
)

_Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class ScoringContext:
    """Context of event metrics besides the patients that are scored."""

    times: tuple[float, ...]  # t
    horizons: tuple[float, ...]  # those of the times that were requested
    n_causes: int  # including the event of interest
    censoring: StepFunction  # G

    @classmethod
    def of(cls, cohort: Cohort, times: tuple[float, ...]) -> ScoringContext:
        """Estimate G in a cohort, for the times t; raises ValueError if the cohort has no event times."""
        cohort.target.require_times()
        G = censoring_survival(cohort.outcomes["time"], cohort.y)
        return cls(times, cohort.horizons, cohort.n_causes, G)

    @property
    def at_horizons(self) -> list[int]:
        """Indices of the horizons in the times."""
        return [self.times.index(horizon) for horizon in self.horizons]


def _uno_c(y: NDArray[np.void], F: _Floats, follow_up: ScoringContext) -> float:
    tau, measure = follow_up.times[-1], uno_c if follow_up.n_causes == 1 else wolbers_c
    return measure(y["time"], y["event"], _double(F[:, -1]), tau, follow_up.censoring).index


def _c_index(y: NDArray[np.void], F: _Floats, _follow_up: ScoringContext) -> float:
    return cause_specific_c(y["time"], y["event"], _double(F[:, -1])).index


def _auc(y: NDArray[np.void], F: _Floats, follow_up: ScoringContext) -> float:
    risks, horizons = _double(F[:, follow_up.at_horizons]), np.array(follow_up.horizons)
    return float(cumulative_dynamic_auc(y["time"], y["event"], risks, horizons, follow_up.censoring).mean())


def _integrated_brier(y: NDArray[np.void], F: _Floats, follow_up: ScoringContext) -> float:
    measure = brier_score if len(follow_up.times) == 1 else integrated_brier
    score = measure(y["time"], y["event"], _double(F), np.array(follow_up.times), follow_up.censoring)
    return float(np.mean(score))


def _double(F: _Floats) -> NDArray[np.float64]:
    return np.asarray(F, dtype=np.float64)


_SCORES: dict[str, tuple[Callable[[NDArray[np.void], _Floats, ScoringContext], float], bool, str]] = {
    "uno_c": (_uno_c, True, "Uno et al. 2011, Stat Med 30:1105; competing risks: Wolbers et al. 2014, Biostat 15:526"),
    "c_index": (_c_index, True, "Harrell et al. 1982, JAMA 247:2543"),
    "time_dependent_auc": (_auc, True, "Blanche, Dartigues & Jacqmin-Gadda 2013, Stat Med 32:5381"),
    "integrated_brier": (_integrated_brier, False, "Graf et al. 1999, Stat Med 18:2529; Gerds & Schumacher 2006"),
}

EVENT_METRICS = tuple(_SCORES)
"""Names of the measures of curves, the default first."""


def measured_name(name: str, follow_up: ScoringContext) -> str:
    """Name of a metric as measured: with competing causes `uno_c` is `wolbers_c`."""
    return "wolbers_c" if name == "uno_c" and follow_up.n_causes > 1 else name


def make_event_metric(name: str, follow_up: ScoringContext) -> Metric:
    """Make one of `EVENT_METRICS`, for outcomes of dtype `EVENT_TIMES` and risks (n, T); KeyError for another name."""
    measure, ranks, reference = _SCORES[name]
    return Metric(
        name,
        lambda y, risks: float(measure(y, risks, follow_up)),
        greater_is_better=ranks,
        lower=0.0,
        upper=1.0 if ranks else float("inf"),
        reference=reference,
        ranks_only=ranks,
    )


@dataclass(frozen=True, slots=True)
class Direction:
    """Whether greater scores of a measure are better."""

    greater_is_better: bool

    def gain(self, score: float) -> float:
        """Score with the sign that makes more better."""
        return score if self.greater_is_better else -score


def metric_direction(name: str) -> Direction:
    """Direction of a measure that a search can optimise; raises KeyError for any other name."""
    return Direction(METRICS[name].greater_is_better if name in METRICS else _SCORES[name][1])
