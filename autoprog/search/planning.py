"""Checking what a client asks of a search against the cohort that it is asked of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from autoprog.cohort import Cohort
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import EVENT_METRICS, METRICS, Plan, make_folds
from autoprog.interpreter import STRATUM_NAMES, prior_rule_faults, settled_prior_rules, threshold_faults
from autoprog.search.settings import MetricName, SearchSettings
from autoprog.space import Space, TableShape, time_grid

DEFAULT_FOLDS = 5
# On few patients the luck of one split is larger than the differences between pipelines.
FEW_PATIENTS, REPEATS_OF_FEW = 500, 2

_LEAST_FOLDS = 2

# A cohort of more patients is explored on a sample of so many, or so many more that it holds this many patients of
# the rarer outcome, where there are as many.
_EXPLORED_WHOLE, _EXPLORED_PATIENTS, _EXPLORED_MINORITY = 20_000, 10_000, 500


def plan_search(settings: SearchSettings, cohort: Cohort) -> tuple[SearchSettings, tuple[str, ...]]:
    """Settle what the settings leave open, and refuse what the cohort cannot bear.

    Parameters
    ----------
    settings : SearchSettings
        As the client sent them.
    cohort : Cohort
        The patients to learn from.

    Returns
    -------
    settings : SearchSettings
        With a `metric`, and `folds` and `repeats` numbers.
    warnings : tuple of str
        What was settled otherwise than by default.

    Raises
    ------
    InvalidInputError
        With every fault: a metric of another kind of outcome, more folds than patients in the smaller class (or than
        its groups allow), unknown algorithms, a stage without any, no valid pipeline, strata that are not in order,
        prior rules that the cohort cannot bear, subgroups of no feature.
    """
    faults = _metric_faults(settings, cohort)
    update: dict[str, object] = {"metric": _metric(settings, cohort)}
    if settings.repeats is None:
        update["repeats"] = REPEATS_OF_FEW if cohort.n_patients < FEW_PATIENTS else 1
    settings = settings.model_copy(update=update)
    most, what = _most_folds(cohort)
    folds = settings.folds or min(DEFAULT_FOLDS, most)
    warnings: tuple[str, ...] = ()
    if most < _LEAST_FOLDS:
        faults.append(Fault("/folds", f"cross-validation takes at least {_LEAST_FOLDS} folds, more than {what}"))
    elif folds > most:
        faults.append(Fault("/folds", f"{folds} folds are more than {what}"))
    elif (usable := _usable_folds(cohort, folds, settings)) is None or (settings.folds and usable < folds):
        faults.append(Fault("/folds", f"the groups cannot be split into {folds} folds that all hold both outcomes"))
    else:
        if usable < folds:
            what = "more would leave some without one of the two outcomes, since groups are not split"
        folds = usable
    if not faults and settings.folds is None and folds < DEFAULT_FOLDS:
        warnings = (f"{folds} folds in place of {DEFAULT_FOLDS}: {what}",)
    faults += _subgroup_faults(settings, cohort)
    if settings.strata:
        faults += threshold_faults(settings.strata.high, settings.strata.medium)
    prior_rules = settled_prior_rules([rule.stated() for rule in settings.prior_rules], cohort.features)
    faults += prior_rule_faults(prior_rules, cohort, STRATUM_NAMES)
    try:
        space = space_for(settings, cohort)
        plan = plan_for(settings, cohort, max(_LEAST_FOLDS, min(folds, most)))
        shape = plan.shape(plan.sample(cohort))
        space.valid_kinds(shape)
        named = {f"{stage}/{name}" for stage, names in settings.space.items() for name in names}
        warnings += tuple(f"{a.key} is left out: it {why}" for a, why in space.unfit(shape).items() if a.key in named)
    except InvalidInputError as error:
        faults += error.faults
    if faults:
        raise InvalidInputError(faults)
    return settings.model_copy(update={"folds": folds}), warnings


def _subgroup_faults(settings: SearchSettings, cohort: Cohort) -> list[Fault]:
    known = [feature.name for feature in cohort.features]
    return [
        Fault(f"/subgroups/{i}", f"the cohort has no feature {name!r}; it has {', '.join(known)}")
        for i, name in enumerate(settings.subgroups or ())
        if name not in known
    ]


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
        Of a cohort of more than 20,000 patients 10,000, or as many more as it takes to hold 500 patients of the rarer
        outcome. With event times what classifiers learn from counts in place of patients: the intervals in which each
        is at risk, or a row a horizon.
    """
    n, rows = cohort.n_rows, _rows_of_a_patient(cohort, plan)
    if n * rows <= _EXPLORED_WHOLE:
        return None
    minority = _n_rarer(cohort)
    wanted = max(math.ceil(_EXPLORED_PATIENTS / rows), -(-_EXPLORED_MINORITY * n // max(1, minority)))
    return wanted if wanted < n else None


def _rows_of_a_patient(cohort: Cohort, plan: Plan) -> float:
    if not cohort.has_times:
        return 1.0
    if plan.reduction == "ipcw":
        return float(len(cohort.horizons))
    shape = TableShape.of(cohort, plan.folds, times=plan.times, reduction=plan.reduction)
    return shape.n_periods / shape.n_patients


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


def _metric(settings: SearchSettings, cohort: Cohort) -> MetricName:
    """The metric that was asked for, or the default of the kind of outcome."""
    if "metric" in settings.model_fields_set or not cohort.has_times:
        return settings.metric
    return "uno_c" if cohort.mode == "survival" else "time_dependent_auc"


def _metric_faults(settings: SearchSettings, cohort: Cohort) -> list[Fault]:
    known = EVENT_METRICS if cohort.has_times else tuple(METRICS)
    metric = _metric(settings, cohort)
    if metric in known:
        return []
    what = "a time to an event" if cohort.has_times else "an outcome without a time"
    return [Fault("/metric", f"{metric} does not measure {what}; choose from {', '.join(known)}")]


def _n_rarer(cohort: Cohort) -> int:
    """Rows with the event of interest; of an outcome without a time, those of the rarer class."""
    events = int((cohort.y == 1).sum())
    return events if cohort.has_times else min(events, cohort.n_rows - events)


def _most_folds(cohort: Cohort) -> tuple[int, str]:
    """The most folds that a cohort bears, and why."""
    whom = "with the event" if cohort.has_times else "of the smaller class"
    most = _n_rarer(cohort)
    what = f"the {most} patients {whom}"
    if cohort.groups is not None:
        labels = (1,) if cohort.has_times else (0, 1)
        with_rarer = min(len(set(cohort.groups[cohort.y == label])) for label in labels)
        if with_rarer < most:
            most, what = with_rarer, f"the {with_rarer} groups that hold patients {whom}"
    return most, what


def _usable_folds(cohort: Cohort, folds: int, settings: SearchSettings) -> int | None:
    """The largest number up to `folds` whose parts all hold both outcomes; None if there is none."""
    if cohort.groups is None:
        return folds  # stratified folds always do
    return next((n for n in range(folds, _LEAST_FOLDS - 1, -1) if _all_hold_both(cohort, n, settings)), None)


def _all_hold_both(cohort: Cohort, folds: int, settings: SearchSettings) -> bool:
    """Of all patients, and of the sample that a large cohort is explored on."""
    plan = plan_for(settings, cohort, folds)
    for patients in (cohort, replace(plan, patients=explored_patients(cohort, plan)).sample(cohort)):
        partitions = make_folds(patients, folds, plan.repeats, plan.seed)
        parts = (part for partition in partitions for fold in partition for part in (fold.train, fold.test))
        events = patients.y == 1
        most = 1.0 if cohort.has_times else np.nextafter(1.0, 0.0)
        if not all(0 < events[part].mean() <= most for part in parts):
            return False
    return True
