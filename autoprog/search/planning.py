"""Checking what a client asks of a search against the cohort that it is asked of."""

from __future__ import annotations

from autoprog.cohort import Cohort
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import make_folds
from autoprog.search.settings import SearchSettings
from autoprog.space import Space, TableShape

DEFAULT_FOLDS = 5

_LEAST_FOLDS = 2


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
        With `folds` a number.
    warnings : tuple of str
        What was settled otherwise than by default.

    Raises
    ------
    InvalidInputError
        With every fault: more folds than patients in the smaller class (or than its groups allow), unknown
        algorithms, a stage
        without any, no valid pipeline, strata that are not in order.
    """
    faults: list[Fault] = []
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
    if settings.strata and settings.strata.medium >= settings.strata.high:
        faults.append(Fault("/strata/medium", f"must be below high, which is {settings.strata.high}"))
    try:
        space = Space.subset(settings.space)
        space.valid_kinds(TableShape.of(cohort, max(_LEAST_FOLDS, min(folds, most))))
    except InvalidInputError as error:
        faults += error.faults
    if faults:
        raise InvalidInputError(faults)
    return settings.model_copy(update={"folds": folds}), warnings


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
    partitions = make_folds(cohort, folds, settings.repeats, settings.seed)
    parts = (part for partition in partitions for fold in partition for part in (fold.train, fold.test))
    return all(0 < cohort.y[part].sum() < len(part) for part in parts)
