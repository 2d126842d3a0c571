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

from autoprog.cohort import Cohort
from autoprog.ensemble import Ensemble, average
from autoprog.evaluation import History, Plan
from autoprog.search.calls import run_calls
from autoprog.search.clock import Clock, refit_s
from autoprog.search.ports import Call, CallLimits, CallStatus, Dispatcher, SearchState
from autoprog.search.signals import Signals
from autoprog.search.work import refit_on_resample
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
    fit_patient_intervals,
    frequency_curves,
    incidence_curves,
    recalibration_covariance,
)

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

    intervals: tuple[PatientIntervals, ...]  # one a horizon, or one without times; empty with too few refits
    method: str  # how they were estimated, or why they were not
    instability: tuple[dict[str, Any], ...] = ()  # one an interval; ready for JSON


@dataclass(frozen=True)
class Delivered:
    """The fitted ensemble whose uncertainty is estimated."""

    ensemble: Ensemble
    history: History  # with the members' out-of-fold risks
    cohort: Cohort  # that they were evaluated on
    plan: Plan  # of their evaluations
    recalibration: Recalibration  # of the ensemble's risks
    distribution: FeatureDistribution  # for missing values


def estimate_intervals(
    dispatcher: Dispatcher, state: SearchState, delivered: Delivered, clock: Clock, signals: Signals
) -> IntervalEstimate:
    """Estimate uncertainty by refits to bootstrap samples; no intervals below `MIN_REFITS`, or if cancelled."""
    if signals.cancel.is_set():
        return IntervalEstimate((), "none was estimated, as the search was cancelled")
    seconds = {e.number: refit_s(e) for e in delivered.history.succeeded}
    available = clock.intervals_s()
    kept, number = affordable_refits(
        np.array([m.weight for m in delivered.ensemble.members]),
        np.array([seconds[m.number] for m in delivered.ensemble.members]),
        available * clock.slots / _MARGIN,
        clock.most_refits,
    )
    rows = _asked(delivered)
    refits = Refits(kept, [])
    if number:
        found = _refit(dispatcher, state, delivered, np.flatnonzero(kept), number, rows, clock=clock, signals=signals)
        refits = complete_refits(kept, found)
    if len(refits.risks) < MIN_REFITS:
        return IntervalEstimate((), _why_none(len(refits.risks), number, available))
    return _estimate(delivered, refits, rows)


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


def _asked(delivered: Delivered) -> NDArray[np.intp]:
    n = len(delivered.cohort.y)
    if n <= _MAX_PATIENTS:
        return np.arange(n)
    rng = np.random.default_rng([delivered.plan.seed, _PATIENTS_STREAM])
    return np.sort(rng.choice(n, size=_MAX_PATIENTS, replace=False))


def _refit(
    dispatcher: Dispatcher,
    state: SearchState,
    delivered: Delivered,
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

    configurations = [m.configuration for m in delivered.ensemble.members]
    asked = [(b, int(k)) for b in range(number) for k in members]
    calls = [
        Call(str(j), refit_on_resample, (state.cohort, configurations[k], delivered.plan, b, rows))
        for j, (b, k) in enumerate(asked)
    ]
    limits = CallLimits(state.settings.evaluation_s, state.settings.limits.memory_mb)
    risks = {
        asked[int(outcome.key)]: outcome.value
        for outcome in run_calls(dispatcher, calls, limits, stop)
        if outcome.status is CallStatus.SUCCEEDED and not np.isnan(outcome.value).all()
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


def _estimate(delivered: Delivered, refits: Refits, rows: NDArray[np.intp]) -> IntervalEstimate:
    cohort, ensemble = delivered.cohort, delivered.ensemble
    by_number = {e.number: e.risks for e in delivered.history.succeeded if e.risks is not None}
    p = np.array([by_number[m.number] for m in ensemble.members], dtype=np.float64)
    averaged = ensemble.out_of_fold_risks(delivered.history)
    kept = np.flatnonzero(refits.kept)
    w = refits.kept[kept] / refits.kept.sum()
    refitted = [average(w, risks, ensemble.scale) for risks in refits.risks]
    own = average(w, p[kept], ensemble.scale)[rows]
    method = _method(delivered, len(refitted), refits.kept)
    if cohort.time is None:
        one = _of_risks(delivered, p, averaged, [Refit(risks, own) for risks in refitted], rows)
        return IntervalEstimate(
            (one,), method, (_instability(delivered, own, refitted, frequency_curves(cohort.y[rows])),)
        )
    time = cohort.time[rows]
    intervals, instability = [], []
    for k, horizon in enumerate(cohort.horizons):
        place = delivered.plan.times.index(horizon)
        of_horizon = [risks[:, k] for risks in refitted]
        own_of_it = own[:, place]
        of_refits = [Refit(risks, own_of_it) for risks in of_horizon]
        intervals.append(_of_risks(delivered, p[:, :, place], averaged[:, place], of_refits, rows))
        curve = incidence_curves(time, cohort.y[rows], horizon)
        instability.append(_instability(delivered, own_of_it, of_horizon, curve))
    return IntervalEstimate(tuple(intervals), method, tuple(instability))


def _of_risks(
    delivered: Delivered,
    p: NDArray[np.float64],
    averaged: NDArray[np.float64],
    refits: Sequence[Refit],
    rows: NDArray[np.intp],
) -> PatientIntervals:
    """Fit intervals to one set of risks: the outcome's, or those until one horizon."""
    return fit_patient_intervals(
        delivered.cohort.features,
        delivered.distribution.completed(delivered.cohort.X[rows], 1)[0],
        p[:, rows],
        np.array([m.weight for m in delivered.ensemble.members]),
        averaged[rows],
        refits,
        folds=delivered.plan.folds,
        covariance=recalibration_covariance(averaged, delivered.recalibration, PRIOR_PRECISION),
    )


def _instability(
    delivered: Delivered, own: NDArray[np.float64], refitted: Sequence[NDArray[np.float64]], curve: CurveOf
) -> dict[str, Any]:
    """Instability of the refits, against the same members' out-of-fold risks and by the same recalibration."""
    recalibrated = delivered.recalibration.apply
    # NaN stays NaN.
    star = [np.where(np.isnan(risks), np.nan, recalibrated(np.nan_to_num(risks))) for risks in refitted]
    rng = np.random.default_rng([delivered.plan.seed, _PATIENTS_STREAM])
    return compute_instability(recalibrated(own), star, curve, rng).to_json()


def _method(delivered: Delivered, n_refits: int, kept: NDArray[np.float64]) -> str:
    members = delivered.ensemble.members
    sample = "patients" if delivered.cohort.groups is None else "groups of patients"
    which = ""
    if (n_kept := np.count_nonzero(kept)) < len(members):
        which = f" ({n_kept} of {len(members)} members, {kept.sum():.0%} of the weight, as the others take too long)"
    return (
        f"spread of {n_refits} refits of the ensemble{which} to bootstrap samples of {sample}, predicted from the "
        "risk, the members' disagreement and how unusual the patient is; includes the uncertainty of the "
        "recalibration, and is widened for the learners' bias and the choice of the members, which refits do not show; "
        f"{TESTED_COVERAGE}"
    )
