"""The number of folds that a search's patients allow, so that each can be learnt from and scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.errors import Fault
from autoprog.evaluation import Plan, ScoringContext, get_outcomes, make_folds
from autoprog.search.plans import explored_patients, plan_for
from autoprog.search.settings import SearchSettings
from autoprog.validation import can_be_scored

DEFAULT_FOLDS, MIN_FOLDS = 5, 2
# With more rows, one half teaches as much as four fifths.
_TWO_FOLDS_FROM = 50_000


def usable_folds(settings: SearchSettings, cohort: Cohort) -> tuple[int, tuple[str, ...], list[Fault]]:
    """Settle the number of folds, with warnings if it is below the default and faults if the cohort forbids it."""
    most, what = _most_folds(cohort, settings.metric)
    default = DEFAULT_FOLDS if cohort.n_rows <= _TWO_FOLDS_FROM else MIN_FOLDS
    folds = settings.folds or min(default, most)
    if most < MIN_FOLDS:
        fault = Fault("/folds", f"cross-validation takes at least {MIN_FOLDS} folds, more than {what}")
        return MIN_FOLDS, (), [fault]
    if folds > most:
        return most, (), [Fault("/folds", f"{folds} folds are more than {what}")]
    usable = _largest(cohort, folds, settings)
    if usable is None or (settings.folds and usable < folds):
        return MIN_FOLDS, (), [Fault("/folds", _unsplit(cohort, folds))]
    if usable < folds:
        what = _too_many(cohort)
    if settings.folds is None and usable < default:
        return usable, (f"{usable} folds in place of {default}: {what}",), []
    return usable, (), []


def _most_folds(cohort: Cohort, metric: str) -> tuple[int, str]:
    """The most folds that a cohort allows, and why."""
    whom, parts = "of the smaller class", [cohort.y == 1, cohort.y == 0]
    if cohort.time is not None:
        # A measure at every horizon needs events by the first one, other measures by the last.
        until = cohort.horizons[0 if metric == "time_dependent_auc" else -1]
        whom, parts = f"with the event by {until:g}", [(cohort.y == 1) & (cohort.time <= until)]
    most = min(int(part.sum()) for part in parts)
    what = f"the {most} patients {whom}"
    if cohort.groups is not None:
        with_rarer = min(len(set(cohort.groups[part])) for part in parts)
        if with_rarer < most:
            most, what = with_rarer, f"the {with_rarer} groups that hold patients {whom}"
    return most, what


def _unsplit(cohort: Cohort, folds: int) -> str:
    if cohort.has_times:
        return f"the patients cannot be split into {folds} folds that all have a score by the horizons"
    return f"the groups cannot be split into {folds} folds that all hold both outcomes"


def _too_many(cohort: Cohort) -> str:
    if cohort.has_times:
        return "more would leave some without patients whom the horizons tell apart"
    return "more would leave some without one of the two outcomes, since groups are not split"


def _largest(cohort: Cohort, folds: int, settings: SearchSettings) -> int | None:
    """Largest number up to `folds` whose parts can all be learnt from and scored; None if there is none."""
    if cohort.groups is None and not cohort.has_times:
        return folds  # stratified folds always can
    return next((n for n in range(folds, MIN_FOLDS - 1, -1) if _all_have_a_score(cohort, n, settings)), None)


def _all_have_a_score(cohort: Cohort, folds: int, settings: SearchSettings) -> bool:
    """Whether all folds can be scored, of all patients and of the sample that a large cohort is explored on."""
    plan = plan_for(settings, cohort, folds)
    for patients in (cohort, replace(plan, patients=explored_patients(cohort, plan)).sample(cohort)):
        has_a_score = _scorable(patients, plan)
        partitions = make_folds(patients, folds, plan.repeats, plan.seed)
        if not all(has_a_score(part) for parts in partitions for fold in parts for part in (fold.train, fold.test)):
            return False
    return True


def _scorable(patients: Cohort, plan: Plan) -> Callable[[NDArray[np.intp]], bool]:
    if not patients.has_times:
        return lambda part: bool(0 < patients.y[part].mean() < 1)
    asked = can_be_scored(plan.metric, get_outcomes(patients), ScoringContext.of(patients, plan.times))

    def among(part: NDArray[np.intp]) -> bool:
        rows = np.zeros(patients.n_rows, dtype=np.bool_)
        rows[part] = True
        return asked(rows)

    return among
