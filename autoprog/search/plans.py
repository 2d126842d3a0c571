"""How a search evaluates: its space, its folds and metric, and the patients that it explores."""

from __future__ import annotations

import math

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.search.settings import SearchSettings
from autoprog.space import Space, TableShape, time_grid
from autoprog.space.calibration import MIN_FOR_ISOTONIC

# A cohort of more than 20,000 rows is explored on a sample with 8,000 rows to learn from, or as many more as hold 500
# patients with the rarer outcome, up to 50,000 rows; of a rarer outcome still, as many as hold 4 such patients a fold.
# Sampling keeps the share of events, as calibration depends on it. With event times, the rows that classifiers learn
# from count: the intervals in which a patient is at risk, or one a horizon.
_EXPLORED_WHOLE, _EXPLORED_TRAINING, _EXPLORED_MINORITY = 20_000, 8_000, 500
_EXPLORED_MOST, _EXPLORED_LEAST_MINORITY_OF_A_FOLD = 50_000, 4


def space_for(settings: SearchSettings, cohort: Cohort) -> Space:
    """Algorithms that a search may choose from. Raises InvalidInputError for an unknown name or an empty stage."""
    space = Space.subset(settings.space, cohort.n_causes)
    if "calibration" not in settings.space and cohort.n_rows < MIN_FOR_ISOTONIC:
        space = space.without("calibration", "isotonic")
    return space if cohort.visits is None else space.with_windows(settings.windows)


def plan_for(settings: SearchSettings, cohort: Cohort, folds: int) -> Plan:
    """Plan of the evaluations on all rows of a cohort, by settings from `plan_search` except for the folds."""
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
    """Number of patients to explore on; None for all."""
    n, rows = cohort.n_rows, _rows_of_a_patient(cohort, plan)
    if n * rows <= _EXPLORED_WHOLE:
        return None
    of_folds = _EXPLORED_TRAINING * plan.folds // (plan.folds - 1)
    least, most = math.ceil(of_folds / rows), math.ceil(_EXPLORED_MOST / rows)
    wanted = min(max(least, _holding(_EXPLORED_MINORITY, cohort)), most)
    wanted = max(wanted, _holding(_EXPLORED_LEAST_MINORITY_OF_A_FOLD * plan.folds, cohort))
    return wanted if wanted < n else None


def _holding(minority: int, cohort: Cohort) -> int:
    """Size of a sample in which so many patients have the rarer outcome."""
    return -(-minority * cohort.n_rows // max(1, n_rarer(cohort)))


def _rows_of_a_patient(cohort: Cohort, plan: Plan) -> float:
    if not cohort.has_times:
        return 1.0
    if plan.reduction == "ipcw":
        return float(len(cohort.horizons))
    shape = TableShape.of(cohort, plan.folds, times=plan.times, reduction=plan.reduction)
    return shape.n_periods / shape.n_patients


def n_rarer(cohort: Cohort) -> int:
    """Count the rows with the event of interest; without times, those of the rarer class."""
    events = int((cohort.y == 1).sum())
    return events if cohort.has_times else min(events, cohort.n_rows - events)
