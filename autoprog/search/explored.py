"""What a search explores, by its settings and cohort: its plans, its space and its opening."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.optimizer import Optimizer, make_optimizer
from autoprog.search.opening import opening_for
from autoprog.search.plans import explored_patients, plan_for, space_for
from autoprog.search.ports import SearchState
from autoprog.space import Configuration, Space, TableShape

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
