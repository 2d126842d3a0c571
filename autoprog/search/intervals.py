"""How uncertain the risk of each patient is: members of the ensemble are fitted again, as long as there is time.

w        weights of the members                                                             (t,)
u_j      j-th point of the golden-ratio sequence, in (0, 1): any first ones lie evenly      scalar
k_j      member that refit j is of: where u_j falls among the sums of w
share    what a refit counts, so that members count by weight whichever refits ended: w_k / refits of k
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Ensemble
from autoprog.evaluation import History, Plan
from autoprog.search.calls import run_calls
from autoprog.search.clock import Clock, refit_s
from autoprog.search.ports import Call, CallLimits, CallStatus, Dispatcher, SearchState
from autoprog.search.signals import Signals
from autoprog.search.work import refit_on_resample
from autoprog.validation import (
    LEAST_REFITS,
    PRIOR_PRECISION,
    FeatureDistribution,
    PatientIntervals,
    Recalibration,
    Refit,
    cross_fitted,
    fit_patient_intervals,
    instability_of,
    recalibration_covariance,
)

# Who is asked about: what is learnt from them is a function of four numbers.
_MOST_PATIENTS = 2_000
_PATIENTS_STREAM = 2**31 + 1

_GOLDEN = (np.sqrt(5) - 1) / 2
# Members that take too long are left out of the refits, but no more than hold this share of the weight.
_LEAST_WEIGHT = 0.5


@dataclass(frozen=True)
class IntervalEstimate:
    """What a search can tell of the uncertainty of single risks.

    Attributes
    ----------
    intervals : tuple of PatientIntervals
        One a horizon, one of an outcome without a time; empty where too few refits ended.
    method : str
        How they were estimated, or why they were not.
    instability : dict or None
        Ready for JSON; None without intervals, and of event times.
    """

    intervals: tuple[PatientIntervals, ...]
    method: str
    instability: dict[str, Any] | None = None


@dataclass(frozen=True)
class Delivered:
    """What is to be told of.

    Attributes
    ----------
    ensemble : Ensemble
        Its members.
    history : History
        Holds their out-of-fold risks.
    cohort : Cohort
        The patients that they were evaluated on.
    plan : Plan
        By which they were.
    recalibration : Recalibration
        Of the ensemble's risks.
    distribution : FeatureDistribution
        What missing values of the patients may be.
    """

    ensemble: Ensemble
    history: History
    cohort: Cohort
    plan: Plan
    recalibration: Recalibration
    distribution: FeatureDistribution


def estimate_intervals(
    dispatcher: Dispatcher, state: SearchState, delivered: Delivered, clock: Clock, signals: Signals
) -> IntervalEstimate:
    """Fit members to bootstrap samples and learn from them how uncertain risks are.

    Parameters
    ----------
    dispatcher : Dispatcher
        Runs the refits under the search's limits.
    state : SearchState
        Settings and the cohort's place.
    delivered : Delivered
        The model.
    clock : Clock
        Says how long it may take.
    signals : Signals
        Tell when to leave the search.

    Returns
    -------
    IntervalEstimate
        Without intervals where fewer than `LEAST_REFITS` refits ended, or the search was cancelled.

    Raises
    ------
    LeaseLostError, ShutdownError
        If the search must be left.
    """
    if signals.cancel.is_set():
        return IntervalEstimate((), "none was estimated, as the search was cancelled")
    seconds = {e.number: refit_s(e) for e in delivered.history.succeeded}
    available = clock.intervals_s()
    kept, number = affordable_refits(
        np.array([m.weight for m in delivered.ensemble.members]),
        np.array([seconds[m.number] for m in delivered.ensemble.members]),
        available * clock.slots,
        clock.most_refits,
    )
    rows = _asked(delivered)
    refits: list[Refit] = []
    if number:
        members = drawn_members(kept, number)
        refits = _refit(dispatcher, state, delivered, members, rows, clock=clock, signals=signals)
    if len(refits) < LEAST_REFITS:
        return IntervalEstimate((), _why_none(len(refits), number, available))
    return _estimate(delivered, refits, rows, np.flatnonzero(kept))


def affordable_refits(
    w: NDArray[np.float64], seconds: NDArray[np.float64], available_s: float, most: int
) -> tuple[NDArray[np.float64], int]:
    """Which members to refit, and how often altogether.

    Parameters
    ----------
    w : ndarray, shape = (t,)
        The members' weights.
    seconds : ndarray, shape = (t,)
        Of one refit of each.
    available_s : float
        Seconds of all slots together.
    most : int
        Refits that are wanted.

    Returns
    -------
    kept : ndarray, shape = (t,)
        The weights, 0 for the dearest members as far as there are otherwise fewer than `LEAST_REFITS` refits.
    number : int
        At most `most`; 0 where half of the weight does not allow for `LEAST_REFITS`.
    """
    kept = w.copy()
    for dearest in np.argsort(-seconds, kind="stable"):
        number = int(available_s * kept.sum() / max(float(kept @ seconds), 1e-9))
        if number >= LEAST_REFITS:
            return kept, min(number, most)
        kept[dearest] = 0.0
        if kept.sum() < _LEAST_WEIGHT * w.sum():
            break
    return kept, 0


def drawn_members(w: NDArray[np.float64], number: int) -> NDArray[np.intp]:
    """The k_j of some refits, whose first ones are of members in proportion to w, too.

    Parameters
    ----------
    w : ndarray, shape = (t,)
        At least 0, not all 0.
    number : int
        How many.

    Returns
    -------
    ndarray of int, shape = (number,)
        Places in w.
    """
    u = (0.5 + np.arange(number) * _GOLDEN) % 1.0
    ends = np.cumsum(w) / w.sum()
    return np.asarray(np.minimum(np.searchsorted(ends, u, side="right"), np.flatnonzero(w)[-1]))


def _asked(delivered: Delivered) -> NDArray[np.intp]:
    n = len(delivered.cohort.y)
    if n <= _MOST_PATIENTS:
        return np.arange(n)
    rng = np.random.default_rng([delivered.plan.seed, _PATIENTS_STREAM])
    return np.sort(rng.choice(n, size=_MOST_PATIENTS, replace=False))


def _refit(
    dispatcher: Dispatcher,
    state: SearchState,
    delivered: Delivered,
    members: NDArray[np.intp],
    rows: NDArray[np.intp],
    *,
    clock: Clock,
    signals: Signals,
) -> list[Refit]:
    """The refits that ended in time, in their order."""
    end = clock.remaining_s() - clock.intervals_s()

    def stop() -> bool:
        return signals.leave() or signals.cancel.is_set() or clock.remaining_s() <= end

    configurations = [m.configuration for m in delivered.ensemble.members]
    calls = [
        Call(str(j), refit_on_resample, (state.cohort, configurations[k], delivered.plan, j, rows))
        for j, k in enumerate(members)
    ]
    limits = CallLimits(state.settings.evaluation_s, state.settings.limits.memory_mb)
    risks = {
        int(outcome.key): outcome.value
        for outcome in run_calls(dispatcher, calls, limits, stop)
        if outcome.status is CallStatus.SUCCEEDED and not np.isnan(outcome.value).all()
    }
    signals.check()
    ended = Counter(int(members[j]) for j in risks)
    weights = [m.weight for m in delivered.ensemble.members]
    return [Refit(k := int(members[j]), risks[j], weights[k] / ended[k]) for j in sorted(risks)]


def _why_none(ended: int, asked: int, available_s: float) -> str:
    if asked:
        return f"none was estimated, as {ended} of {asked} refits ended and {LEAST_REFITS} are needed"
    return (
        f"none was estimated, as the {available_s:.1f} s that the time budget left for it do not suffice for "
        f"{LEAST_REFITS} refits"
    )


def _estimate(
    delivered: Delivered, refits: Sequence[Refit], rows: NDArray[np.intp], kept: NDArray[np.intp]
) -> IntervalEstimate:
    cohort, recalibration = delivered.cohort, delivered.recalibration
    averaged = delivered.ensemble.out_of_fold_risks(delivered.history)
    by_number = {e.number: e.risks for e in delivered.history.succeeded if e.risks is not None}
    p = np.array([by_number[m.number] for m in delivered.ensemble.members], dtype=np.float64)
    method = _method(delivered, len(refits), kept)
    if cohort.has_times:
        places = [delivered.plan.times.index(horizon) for horizon in cohort.horizons]
        of_horizons = [
            _of_risks(
                delivered,
                p[:, :, place],
                averaged[:, place],
                [replace(r, risks=r.risks[:, k]) for r in refits],
                rows,
            )
            for k, place in enumerate(places)
        ]
        return IntervalEstimate(tuple(of_horizons), method)
    intervals = _of_risks(delivered, p, averaged, refits, rows)
    rng = np.random.default_rng([delivered.plan.seed, _PATIENTS_STREAM])
    q = cross_fitted(cohort.y, averaged, np.random.default_rng(delivered.plan.seed), cohort.groups)
    # What is not a number stays so.
    refitted = [np.where(np.isnan(r.risks), np.nan, recalibration.apply(np.nan_to_num(r.risks))) for r in refits]
    instability = instability_of(cohort.y[rows], q[rows], refitted, rng)
    return IntervalEstimate((intervals,), method, instability.to_json())


def _of_risks(
    delivered: Delivered,
    p: NDArray[np.float64],
    averaged: NDArray[np.float64],
    refits: Sequence[Refit],
    rows: NDArray[np.intp],
) -> PatientIntervals:
    """Of one set of risks: the outcome's, or those until one horizon."""
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


def _method(delivered: Delivered, n_refits: int, kept: NDArray[np.intp]) -> str:
    members = delivered.ensemble.members
    sample = "patients" if delivered.cohort.groups is None else "groups of patients"
    which = ""
    if len(kept) < len(members):
        share = sum(members[k].weight for k in kept)
        which = f" ({len(kept)} of {len(members)}, {share:.0%} of the weight, as the others take too long)"
    return (
        f"spread of the members' risks and of {n_refits} refits of members{which}, drawn by weight, to bootstrap "
        f"samples of {sample}, learnt as a function of the risk, the members' disagreement and how unusual the patient "
        "is; with the uncertainty of the recalibration, and widened for the learners' bias as in simulations"
    )
