"""What a search explores: its plans, its space, and the pipelines that it begins with, from its settings and cohort."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.optimizer import Optimizer, make_optimizer
from autoprog.search.opening import opening_for
from autoprog.search.plans import explored_patients, plan_for, space_for
from autoprog.search.ports import SearchState
from autoprog.space import Configuration, Space, TableShape

# A budget of fewer than twice two evaluations is spent on all patients.
_MIN_EVALUATIONS = 4


def build_plan(state: SearchState, cohort: Cohort) -> Plan:
    """How the configurations of a search are evaluated on all its patients."""
    assert state.settings.folds is not None, "plan_search settles the folds"  # noqa: S101
    return plan_for(state.settings, cohort, state.settings.folds)


def build_exploration_plan(state: SearchState, cohort: Cohort) -> Plan:
    """How configurations are evaluated while they are looked for: a large cohort is explored on a subsample."""
    plan = build_plan(state, cohort)
    if state.settings.budget.evaluations < _MIN_EVALUATIONS:
        return plan
    return replace(plan, patients=explored_patients(cohort, plan))


def build_optimizer(state: SearchState, cohort: Cohort) -> Optimizer:
    """The optimizer that the settings ask for, over the algorithms that serve the cohort."""
    space, shape = explored_space(state, cohort)
    return make_optimizer(space, shape, state.settings.optimizer.options(state.start), state.start)


def build_opening(state: SearchState, cohort: Cohort) -> tuple[Configuration, ...]:
    """The pipelines that a search begins with; none where the client wants none."""
    if not state.settings.opening:
        return ()
    space, shape = explored_space(state, cohort)
    return opening_for(space.valid_kinds(shape), shape, cohort.n_rows)


def explored_space(state: SearchState, cohort: Cohort) -> tuple[Space, TableShape]:
    """The algorithms that serve the cohort, and the training folds while configurations are looked for."""
    # What is explored on fewer patients must serve all of them: a guard of size looks at these.
    plan = build_plan(state, cohort)
    everybody = plan.shape(plan.sample(cohort))
    space = space_for(state.settings, cohort)
    space = space.restricted_to(space.valid_kinds(everybody))
    plan = build_exploration_plan(state, cohort)
    shape = replace(plan.shape(plan.sample(cohort)), has_missing=everybody.has_missing)
    return space, shape
