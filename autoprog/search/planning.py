"""Check of a search's settings against its cohort."""

from __future__ import annotations

from collections.abc import Sequence

from autoprog.cohort import Cohort
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import EVENT_METRICS, METRICS
from autoprog.interpreter import STRATUM_NAMES, prior_rule_faults, settled_prior_rules, threshold_faults
from autoprog.search.plans import plan_for, space_for
from autoprog.search.settings import MetricName, SearchSettings
from autoprog.search.usable_folds import usable_folds

# With few patients, the luck of one split outweighs the differences between pipelines.
FEW_PATIENTS, REPEATS_OF_FEW = 500, 2


def plan_search(settings: SearchSettings, cohort: Cohort) -> tuple[SearchSettings, tuple[str, ...]]:
    """Fill in the settings that are left open, and refuse those that the cohort does not allow.

    Parameters
    ----------
    settings : SearchSettings
        As the client sent them.
    cohort : Cohort
        The patients to learn from.

    Returns
    -------
    settings : SearchSettings
        With `metric`, `folds` and `repeats` set.
    warnings : tuple of str
        What differs from the default: fewer folds, algorithms left out.

    Raises
    ------
    InvalidInputError
        With every fault: a metric for another kind of outcome, more folds than patients in the smaller class (or than
        its groups allow), unknown algorithms, an empty stage, no valid pipeline, strata out of order, prior rules that
        the cohort cannot bear, subgroups of unknown features.
    """
    faults = _metric_faults(settings, cohort)
    update: dict[str, object] = {"metric": _metric(settings, cohort)}
    if settings.repeats is None:
        update["repeats"] = REPEATS_OF_FEW if cohort.n_patients < FEW_PATIENTS else 1
    settings = settings.model_copy(update=update)
    folds, warnings, found = usable_folds(settings, cohort)
    faults += found
    if settings.strata:
        faults += threshold_faults(settings.strata.high, settings.strata.medium)
    plan = plan_for(settings, cohort, folds)
    try:
        rows = plan.sample(cohort)
        faults += _described_faults(settings, rows)
    except InvalidInputError as error:
        rows = cohort
        faults += error.faults
    try:
        space = space_for(settings, cohort)
        shape = plan.shape(rows)
        space.valid_kinds(shape)
        named = {f"{stage}/{name}" for stage, names in settings.named_algorithms.items() for name in names}
        warnings += tuple(f"{a.key} is left out: it {why}" for a, why in space.unfit(shape).items() if a.key in named)
    except InvalidInputError as error:
        faults += error.faults
    if faults:
        raise InvalidInputError(faults)
    return settings.model_copy(update={"folds": folds}), warnings


def _described_faults(settings: SearchSettings, rows: Cohort) -> list[Fault]:
    """Faults of subgroups and prior rules that name what the rows lack; of visits, a row is a window of them."""
    known = [feature.name for feature in rows.features]
    prior_rules = settled_prior_rules([rule.stated() for rule in settings.prior_rules], rows.features)
    return [
        *prior_rule_faults(prior_rules, rows, STRATUM_NAMES),
        *_subgroup_faults(settings, known),
    ]


def _subgroup_faults(settings: SearchSettings, known: Sequence[str]) -> list[Fault]:
    return [
        Fault(f"/subgroups/{i}", f"the cohort has no feature {name!r}; it has {', '.join(known)}")
        for i, name in enumerate(settings.subgroups or ())
        if name not in known
    ]


def _metric(settings: SearchSettings, cohort: Cohort) -> MetricName:
    """The metric that was asked for, or the default for the kind of outcome."""
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
