"""Checking what a client asks of a search against the cohort that it is asked of."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort import Cohort
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import Plan, make_folds
from autoprog.search.settings import SearchSettings
from autoprog.space import Space

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
        With `folds` and `repeats` numbers.
    warnings : tuple of str
        What was settled otherwise than by default.

    Raises
    ------
    InvalidInputError
        With every fault: more folds than patients in the smaller class (or than its groups allow), unknown
        algorithms, a stage without any, no valid pipeline, strata that are not in order, subgroups of no feature.
    """
    faults: list[Fault] = []
    if settings.repeats is None:
        repeats = REPEATS_OF_FEW if cohort.n_patients < FEW_PATIENTS else 1
        settings = settings.model_copy(update={"repeats": repeats})
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
    if settings.strata and settings.strata.medium >= settings.strata.high:
        faults.append(Fault("/strata/medium", f"must be below high, which is {settings.strata.high}"))
    try:
        space = Space.subset(settings.space)
        shape = _plan(settings, max(_LEAST_FOLDS, min(folds, most))).shape(cohort)
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


def explored_patients(cohort: Cohort) -> int | None:
    """How many patients a search looks for configurations on; None for all.

    Parameters
    ----------
    cohort : Cohort
        All patients.

    Returns
    -------
    int or None
        Of a cohort of more than 20,000 patients 10,000, or as many more as it takes to hold 500 patients of the rarer
        outcome.
    """
    n = cohort.n_patients
    if n <= _EXPLORED_WHOLE:
        return None
    minority = min(int(cohort.y.sum()), n - int(cohort.y.sum()))
    wanted = max(_EXPLORED_PATIENTS, -(-_EXPLORED_MINORITY * n // max(1, minority)))
    return wanted if wanted < n else None


def _plan(settings: SearchSettings, folds: int) -> Plan:
    return Plan(
        settings.metric,
        folds,
        settings.repeats or 1,
        settings.seed,
        missing_indicators=settings.missing_indicators,
    )


def _most_folds(cohort: Cohort) -> tuple[int, str]:
    """The most folds that a cohort bears, and why."""
    events = int(cohort.y.sum())
    minority = min(events, cohort.n_patients - events)
    most, what = minority, f"the {minority} patients of the smaller class"
    if cohort.groups is not None:
        with_rarer = min(len(set(cohort.groups[cohort.y == label])) for label in (0, 1))
        if with_rarer < most:
            most, what = with_rarer, f"the {with_rarer} groups that hold patients of the smaller class"
    return most, what


def _usable_folds(cohort: Cohort, folds: int, settings: SearchSettings) -> int | None:
    """The largest number up to `folds` whose parts all hold both outcomes; None if there is none."""
    if cohort.groups is None:
        return folds  # stratified folds always do
    return next((n for n in range(folds, _LEAST_FOLDS - 1, -1) if _all_hold_both(cohort, n, settings)), None)


def _all_hold_both(cohort: Cohort, folds: int, settings: SearchSettings) -> bool:
    """Of all patients, and of the sample that a large cohort is explored on."""
    plan = _plan(settings, folds)
    for patients in (cohort, replace(plan, patients=explored_patients(cohort)).sample(cohort)):
        partitions = make_folds(patients, folds, plan.repeats, plan.seed)
        parts = (part for partition in partitions for fold in partition for part in (fold.train, fold.test))
        if not all(0 < patients.y[part].sum() < len(part) for part in parts):
            return False
    return True
