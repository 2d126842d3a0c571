"""Uncertainty of each patient's risk, by refits of the ensemble to bootstrap samples, as many as time allows.

w        weights of the members                                                             (t,)
kept     members that are refitted: all, or those that are quick enough and hold a fifth of the weight
b        number of a bootstrap sample; every kept member is fitted to it

Members are refitted with the weights that they have: neither the search nor the choice of the ensemble is repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.ensemble import average
from autoprog.search.clock import Clock
from autoprog.search.delivery.assessment import FittedEnsemble
from autoprog.search.ports import SearchState
from autoprog.search.refits import refit_s
from autoprog.search.tasks import refit_on_resample
from autoprog.space import list_modules
from autoprog.validation import (
    MIN_REFITS,
    PRIOR_PRECISION,
    TESTED_COVERAGE,
    CurveOf,
    FeatureDistribution,
    PatientIntervals,
    Recalibration,
    Refit,
    compute_instability,
    estimate_lack_of_fit,
    fit_patient_intervals,
    recalibration_covariance,
)
from autoprog.work import Call, CallLimits, CallStatus, Dispatcher, Signals, run_calls

# Enough patients to predict, as only a function of four numbers is learnt from them.
_MAX_PATIENTS = 2_000
_PATIENTS_STREAM = 2**31 + 1

# A refit takes longer than a fold's fit, as it is sent to its process and back.
_MARGIN = 1.3
# Slow members are left out of the refits as long as the others hold this share of the weight.
_MIN_WEIGHT = 0.2


@dataclass(frozen=True)
class IntervalEstimate:
    """Estimated uncertainty of single risks."""

    intervals: tuple[PatientIntervals, ...]  # one per horizon, or one without times; empty with too few refits
    method: str  # how they were estimated, or why they were not
    instability: tuple[dict[str, Any], ...] = ()  # one per interval; ready for JSON


def estimate_intervals(
    dispatcher: Dispatcher,
    state: SearchState,
    fitted: FittedEnsemble,
    recalibration: Recalibration,
    distribution: FeatureDistribution,
    *,
    clock: Clock,
    signals: Signals,
) -> IntervalEstimate:
    """Refit the ensemble to bootstrap samples and estimate intervals; none from fewer than `MIN_REFITS` refits."""
    if signals.cancel.is_set():
        return IntervalEstimate((), "none was estimated, as the search was cancelled")
    seconds = {e.number: refit_s(e, fitted.plan.folds) for e in fitted.history.succeeded}
    available = clock.intervals_s()
    kept, number = affordable_refits(
        np.array([m.weight for m in fitted.ensemble.members]),
        np.array([seconds[m.number] for m in fitted.ensemble.members]),
        available * clock.slots / _MARGIN,
        clock.most_refits,
    )
    rows = _asked(fitted)
    refits = Refits(kept, [])
    if number:
        found = _refit(dispatcher, state, fitted, np.flatnonzero(kept), number, rows, clock=clock, signals=signals)
        refits = complete_refits(kept, found)
    if len(refits.risks) < MIN_REFITS:
        return IntervalEstimate((), _why_none(len(refits.risks), number, available))
    return _Estimation(fitted, recalibration, distribution, rows).intervals(refits)


def affordable_refits(
    w: NDArray[np.float64], seconds: NDArray[np.float64], available_s: float, most: int
) -> tuple[NDArray[np.float64], int]:
    """Weights of the members to refit, 0 for others, and the number of refits; `available_s` adds up all slots."""
    # Members that are slow for their weight are left out until `MIN_REFITS` refits fit; there are none if too little
    # weight is left.
    kept = w.copy()
    for dearest in np.argsort(-seconds / np.maximum(w, 1e-9), kind="stable"):
        number = int(available_s / max(float(seconds[kept > 0].sum()), 1e-9))
        if number >= MIN_REFITS:
            return kept, min(number, most)
        kept[dearest] = 0.0
        if kept.sum() < _MIN_WEIGHT * w.sum():
            break
    return kept, 0


class Refits(NamedTuple):
    """Completed refits of the ensemble: `kept` weights, 0 for other members, and the members' risks by sample."""

    kept: NDArray[np.float64]
    risks: list[NDArray[np.float64]]


def complete_refits(kept: NDArray[np.float64], found: Mapping[tuple[int, int], NDArray[np.floating]]) -> Refits:
    """Select the samples to which every member was fitted, without members that too many samples lack."""
    samples = sorted({b for b, _ in found})
    ended = Counter(k for _, k in found)
    # A member counts if it was fitted to half of the samples, and to `MIN_REFITS` where there are as many.
    least = max(len(samples) / 2, min(MIN_REFITS, len(samples)))
    order = [k for k in np.flatnonzero(kept).tolist() if ended[k] >= least]
    left = np.where(np.isin(np.arange(len(kept)), order), kept, 0.0)
    if left.sum() < _MIN_WEIGHT:
        return Refits(left, [])
    whole = [np.array([found[b, k] for k in order]) for b in samples if all((b, k) in found for k in order)]
    return Refits(left, whole)


def _asked(fitted: FittedEnsemble) -> NDArray[np.intp]:
    n = len(fitted.cohort.y)
    if n <= _MAX_PATIENTS:
        return np.arange(n)
    rng = np.random.default_rng([fitted.plan.seed, _PATIENTS_STREAM])
    return np.sort(rng.choice(n, size=_MAX_PATIENTS, replace=False))


def _refit(
    dispatcher: Dispatcher,
    state: SearchState,
    fitted: FittedEnsemble,
    members: NDArray[np.intp],
    number: int,
    rows: NDArray[np.intp],
    *,
    clock: Clock,
    signals: Signals,
) -> dict[tuple[int, int], NDArray[np.floating]]:
    """Risks by sample and member, from the refits that ended in time."""
    end = clock.remaining_s() - clock.intervals_s()

    def stop() -> bool:
        return signals.leave() or signals.cancel.is_set() or clock.remaining_s() <= end

    configurations = [m.configuration for m in fitted.ensemble.members]
    asked = [(b, int(k)) for b in range(number) for k in members]
    calls = [
        Call(
            str(j),
            refit_on_resample,
            (state.cohort, configurations[k], fitted.plan, b, rows),
            list_modules(configurations[k]),
        )
        for j, (b, k) in enumerate(asked)
    ]
    limits = CallLimits(state.settings.evaluation_s, state.settings.limits.memory_mb)
    shape = fitted.cohort.target.empty_risks(len(rows), fitted.cohort.horizons).shape
    risks = {
        asked[int(outcome.key)]: outcome.value
        for outcome in run_calls(dispatcher, calls, limits, stop)
        if outcome.status is CallStatus.SUCCEEDED and outcome.value.shape == shape and not np.isnan(outcome.value).all()
    }
    signals.check()
    return risks


def _why_none(ended: int, asked: int, available_s: float) -> str:
    if asked:
        return f"none was estimated, as {ended} of {asked} refits ended and {MIN_REFITS} are needed"
    return (
        f"none was estimated, as the {available_s:.1f} s that the time budget left for it do not suffice for "
        f"{MIN_REFITS} refits"
    )


@dataclass(frozen=True)
class _Estimation:
    """Intervals and instability, from the refits' risks of some patients (`rows`)."""

    fitted: FittedEnsemble
    recalibration: Recalibration
    distribution: FeatureDistribution
    rows: NDArray[np.intp]

    def intervals(self, refits: Refits) -> IntervalEstimate:
        """One per horizon."""
        ensemble, endpoint = self.fitted.ensemble, self.fitted.endpoint
        by_number = {e.number: e.risks for e in self.fitted.history.succeeded if e.risks is not None}
        p = np.array([by_number[m.number] for m in ensemble.members], dtype=np.float64)
        kept = np.flatnonzero(refits.kept)
        w = refits.kept[kept] / refits.kept.sum()
        # Refits are asked at the horizons alone.
        shape = (len(self.rows), len(endpoint.horizons))
        refitted = [average(w, risks, ensemble.scale).reshape(shape) for risks in refits.risks]
        own = endpoint.at_horizons(average(w, p[kept], ensemble.scale)[self.rows])
        p, averaged = endpoint.at_horizons(p), endpoint.at_horizons(self.fitted.averaged)
        intervals, instability = [], []
        for k in range(len(endpoint.horizons)):
            found = [Refit(risks[:, k], own[:, k]) for risks in refitted]
            intervals.append(self._intervals(k, p[:, :, k], averaged[:, k], found))
            curve = endpoint.observed_curve(k, self.rows)
            instability.append(self._instability(own[:, k], [risks[:, k] for risks in refitted], curve))
        method = _method(self.fitted, len(refitted), refits.kept)
        return IntervalEstimate(tuple(intervals), method, tuple(instability))

    def _intervals(
        self, k: int, p: NDArray[np.float64], averaged: NDArray[np.float64], refits: Sequence[Refit]
    ) -> PatientIntervals:
        """Intervals of the risks until one horizon."""
        cohort, rows = self.fitted.cohort, self.rows
        y, weights = self.fitted.endpoint.known_outcomes(k)
        groups = None if cohort.groups is None else cohort.groups[rows]
        recalibrated = self.recalibration.apply(averaged)
        risks = recalibrated[rows]
        return fit_patient_intervals(
            cohort.features,
            self.distribution.completed(cohort.X[rows], 1)[0],
            p[:, rows],
            np.array([m.weight for m in self.fitted.ensemble.members]),
            averaged[rows],
            refits,
            folds=self.fitted.plan.folds,
            covariance=recalibration_covariance(
                averaged, self.recalibration, PRIOR_PRECISION, weights * (y - recalibrated), cohort.groups
            ),
            lack_of_fit=estimate_lack_of_fit(cohort.X[rows], y[rows], risks, weights[rows], groups),
        )

    def _instability(
        self, own: NDArray[np.float64], refitted: Sequence[NDArray[np.float64]], curve: CurveOf
    ) -> dict[str, Any]:
        """Compare like with like: the same members, out of fold and refitted, recalibrated by the same map."""
        recalibrated = self.recalibration.apply
        # What is not a number stays so.
        star = [np.where(np.isnan(risks), np.nan, recalibrated(np.nan_to_num(risks))) for risks in refitted]
        rng = np.random.default_rng([self.fitted.plan.seed, _PATIENTS_STREAM])
        return compute_instability(recalibrated(own), star, curve, rng).to_json()


def _method(fitted: FittedEnsemble, n_refits: int, kept: NDArray[np.float64]) -> str:
    members = fitted.ensemble.members
    sample = "patients" if fitted.cohort.groups is None else "groups of patients"
    which = ""
    if (n_kept := np.count_nonzero(kept)) < len(members):
        which = f" ({n_kept} of {len(members)} members, {kept.sum():.0%} of the weight, as the others take too long)"
    return (
        f"spread of {n_refits} refits of the ensemble{which} to bootstrap samples of {sample}, predicted from the "
        "risk, the members' disagreement and how unusual the patient is; includes the uncertainty of the "
        "recalibration, and is widened for the learners' bias and the choice of the members, which refits do not show; "
        f"{TESTED_COVERAGE}"
    )
