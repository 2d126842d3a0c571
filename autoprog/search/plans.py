"""How a search evaluates: its space, its folds and metric, and on whom."""

from __future__ import annotations

import math

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.search.settings import SearchSettings
from autoprog.space import Space, TableShape, time_grid
from autoprog.space.calibration import MIN_FOR_ISOTONIC

# A cohort of more patients is explored on a sample whose training folds hold so many, or on so many more that it holds
# this many patients of the rarer outcome; but no more than so many, unless these would not hold a few of the rarer
# outcome in every fold.
_EXPLORED_WHOLE, _EXPLORED_TRAINING, _EXPLORED_MINORITY = 20_000, 8_000, 500
_EXPLORED_MOST, _EXPLORED_LEAST_MINORITY_OF_A_FOLD = 50_000, 4


def space_for(settings: SearchSettings, cohort: Cohort) -> Space:
    """The algorithms that a search may choose from, valid for its cohort or not.

    Parameters
    ----------
    settings : SearchSettings
        Name algorithms, and windows.
    cohort : Cohort
        Whose causes, and visits, there are.

    Returns
    -------
    Space
        With the window as a hyperparameter where visits are looked back on over several lengths.

    Raises
    ------
    InvalidInputError
        Where a name is unknown or a stage is left empty.
    """
    space = Space.subset(settings.space, cohort.n_causes)
    if "calibration" not in settings.space and cohort.n_rows < MIN_FOR_ISOTONIC:
        space = space.without("calibration", "isotonic")
    return space if cohort.visits is None else space.with_windows(settings.windows)


def plan_for(settings: SearchSettings, cohort: Cohort, folds: int) -> Plan:
    """How the configurations of a search are evaluated on all rows of its cohort.

    Parameters
    ----------
    settings : SearchSettings
        As `plan_search` settled them, but for the folds.
    cohort : Cohort
        The whole cohort.
    folds : int
        Of the cross-validation.

    Returns
    -------
    Plan
        For all its evaluations.
    """
    return Plan(
        settings.metric,
        folds,
        settings.repeats or 1,
        settings.seed,
        thresholds=settings.thresholds,
        missing_indicators=settings.missing_indicators,
        times=time_grid(cohort),
        reduction=settings.reduction,
        window=settings.windows[-1],
    )


def explored_patients(cohort: Cohort, plan: Plan) -> int | None:
    """How many patients a search looks for configurations on; None for all.

    Parameters
    ----------
    cohort : Cohort
        All patients.
    plan : Plan
        How configurations are evaluated on all of them.

    Returns
    -------
    int or None
        Of a cohort of more than 20,000 patients 10,000 with five folds and 16,000 with two, 8,000 to learn from; or as
        many more as it takes to hold 500 patients of the rarer
        outcome, but at most 50,000; of an outcome so rare that these would hold fewer than four patients a fold with
        it, as many as hold these. The sample keeps the share of events: what calibration is scored on is not changed.
        With event times what classifiers learn from counts in place of patients: the intervals in which each is at
        risk, or a row a horizon.
    """
    n, rows = cohort.n_rows, _rows_of_a_patient(cohort, plan)
    if n * rows <= _EXPLORED_WHOLE:
        return None
    of_folds = _EXPLORED_TRAINING * plan.folds // (plan.folds - 1)
    least, most = math.ceil(of_folds / rows), math.ceil(_EXPLORED_MOST / rows)
    wanted = min(max(least, _holding(_EXPLORED_MINORITY, cohort)), most)
    wanted = max(wanted, _holding(_EXPLORED_LEAST_MINORITY_OF_A_FOLD * plan.folds, cohort))
    return wanted if wanted < n else None


def _holding(minority: int, cohort: Cohort) -> int:
    """Patients of whom so many have the rarer outcome."""
    return -(-minority * cohort.n_rows // max(1, n_rarer(cohort)))


def _rows_of_a_patient(cohort: Cohort, plan: Plan) -> float:
    if not cohort.has_times:
        return 1.0
    if plan.reduction == "ipcw":
        return float(len(cohort.horizons))
    shape = TableShape.of(cohort, plan.folds, times=plan.times, reduction=plan.reduction)
    return shape.n_periods / shape.n_patients


def n_rarer(cohort: Cohort) -> int:
    """Rows with the event of interest; of an outcome without a time, those of the rarer class."""
    events = int((cohort.y == 1).sum())
    return events if cohort.has_times else min(events, cohort.n_rows - events)
