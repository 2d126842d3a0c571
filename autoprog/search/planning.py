"""Plans of a search: its settings checked against the cohort, folds that can be used, the sample that is explored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from autoprog.cohort import Cohort
from autoprog.endpoints import make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import Plan, make_folds
from autoprog.interpreter import STRATUM_NAMES, prior_rule_faults, settled_prior_rules, threshold_faults
from autoprog.optimizer import Optimizer, make_optimizer
from autoprog.search.opening import opening_for
from autoprog.search.ports import SearchState
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Space, TableShape
from autoprog.space.calibration import MIN_FOR_ISOTONIC

# A cohort of more than 20,000 rows is explored on a sample with 8,000 rows to learn from, or as many more as hold 500
# patients with the rarer outcome, up to 50,000 rows; of a still rarer outcome, as many as hold 4 patients per fold.
# Sampling keeps the share of events, as calibration depends on it. With event times, the rows that classifiers learn
# from count: the intervals in which a patient is at risk, or one per horizon.
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
        times=cohort.time_grid,
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
    shape = TableShape.of(cohort, plan.folds, times=plan.times, reduction=plan.reduction)
    return shape.learning.rows_of_a_patient(shape)


def n_rarer(cohort: Cohort) -> int:
    """Count the rows with the event of interest; without times, those of the rarer class."""
    return cohort.target.count_rarer(cohort.outcomes)


# With fewer evaluations, all patients are used: exploring and the finalists need two each.
_MIN_EVALUATIONS = 4


def build_plan(state: SearchState, cohort: Cohort) -> Plan:
    """Plan of the evaluations on all patients."""
    assert state.settings.folds is not None, "plan_search settles the folds"  # noqa: S101
    return plan_for(state.settings, cohort, state.settings.folds)


def build_exploration_plan(state: SearchState, cohort: Cohort) -> Plan:
    """Plan of the evaluations during exploration; a large cohort is explored on a sample."""
    plan = build_plan(state, cohort)
    if state.settings.budget.evaluations < _MIN_EVALUATIONS:
        return plan
    return replace(plan, patients=explored_patients(cohort, plan))


def build_optimizer(state: SearchState, cohort: Cohort) -> Optimizer:
    """Optimizer of the settings, over the algorithms that suit the cohort."""
    space, shape = explored_space(state, cohort)
    return make_optimizer(space, shape, state.settings.optimizer.options(state.start), state.start)


def build_opening(state: SearchState, cohort: Cohort) -> tuple[Configuration, ...]:
    """Pipelines that a search begins with; none if the client wants none."""
    if not state.settings.opening:
        return ()
    space, shape = explored_space(state, cohort)
    return opening_for(space.valid_kinds(shape), shape, cohort.n_rows)


def explored_space(state: SearchState, cohort: Cohort) -> tuple[Space, TableShape]:
    """Algorithms that suit the cohort, and the shape of the training folds during exploration."""
    # Algorithms explored on a sample must suit all patients: guards of size look at these.
    plan = build_plan(state, cohort)
    everybody = plan.shape(plan.sample(cohort))
    space = space_for(state.settings, cohort)
    space = space.restricted_to(space.valid_kinds(everybody))
    plan = build_exploration_plan(state, cohort)
    shape = replace(plan.shape(plan.sample(cohort)), has_missing=everybody.has_missing)
    return space, shape


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
    unsplit, too_many = make_endpoint(cohort).unscored
    usable = _largest(cohort, folds, settings)
    if usable is None or (settings.folds and usable < folds):
        return MIN_FOLDS, (), [Fault("/folds", unsplit.format(folds=folds))]
    if usable < folds:
        what = too_many
    if settings.folds is None and usable < default:
        return usable, (f"{usable} folds in place of {default}: {what}",), []
    return usable, (), []


def _most_folds(cohort: Cohort, metric: str) -> tuple[int, str]:
    """The most folds that a cohort allows, and why."""
    whom, parts = make_endpoint(cohort).scarcest(metric)
    most = min(int(part.sum()) for part in parts)
    what = f"the {most} patients {whom}"
    if cohort.groups is not None:
        with_rarer = min(len(set(cohort.groups[part])) for part in parts)
        if with_rarer < most:
            most, what = with_rarer, f"the {with_rarer} groups that hold patients {whom}"
    return most, what


def _largest(cohort: Cohort, folds: int, settings: SearchSettings) -> int | None:
    """Largest number up to `folds` whose parts can all be learnt from and scored; None if there is none."""
    return next((n for n in range(folds, MIN_FOLDS - 1, -1) if _all_have_a_score(cohort, n, settings)), None)


def _all_have_a_score(cohort: Cohort, folds: int, settings: SearchSettings) -> bool:
    """Whether all folds can be scored, of all patients and of the sample that a large cohort is explored on."""
    plan = plan_for(settings, cohort, folds)
    for patients in (cohort, replace(plan, patients=explored_patients(cohort, plan)).sample(cohort)):
        has_a_score = make_endpoint(patients, plan.times).scorable(plan.metric)
        partitions = make_folds(patients, folds, plan.repeats, plan.seed)
        if not all(has_a_score(part) for parts in partitions for fold in parts for part in (fold.train, fold.test)):
            return False
    return True


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


def _metric(settings: SearchSettings, cohort: Cohort) -> str:
    """The metric that was asked for, or the default for the kind of outcome."""
    return settings.metric if "metric" in settings.model_fields_set else cohort.outcome.default_metric


def _metric_faults(settings: SearchSettings, cohort: Cohort) -> list[Fault]:
    known = make_endpoint(cohort).metrics
    metric = _metric(settings, cohort)
    if metric in known:
        return []
    return [Fault("/metric", f"{metric} does not measure {cohort.target.described}; choose from {', '.join(known)}")]
