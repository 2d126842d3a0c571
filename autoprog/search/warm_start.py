"""Start of a search's optimizer: what earlier and open cohorts have taught when it begins."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort import Cohort
from autoprog.metalearning import (
    CohortStatistics,
    comparable_statistics,
    meta_features,
    shipped_statistics,
    warm_start,
)
from autoprog.optimizer import Start
from autoprog.search.planning import build_exploration_plan, explored_space
from autoprog.search.ports import Claim, Phase, SearchState, Store
from autoprog.space import predicted_seconds


def with_start(store: Store, claim: Claim, state: SearchState, cohort: Cohort) -> SearchState:
    """Load and store the optimizer's start, unless the search has one or the client wants none."""
    if state.start is not None or not state.settings.warm_start:
        return state
    store.record_phase(claim, Phase.META_FEATURES)
    start = _load_start(store, claim, state, cohort)
    # Stored before the optimizer's first proposal, so that a killed search resumes as it would have gone on, whatever
    # other searches have taught since.
    store.record_start(claim, start)
    store.record_phase(claim, Phase.SEARCH)
    return replace(state, start=start)


def _load_start(store: Store, claim: Claim, state: SearchState, cohort: Cohort) -> Start:
    settings = state.settings
    statistics = teaching_statistics(store, claim.search_id, settings.metric_identity, cohort)
    if not statistics:
        return Start()
    space, shape = explored_space(state, cohort)
    fits = settings.exploration_s / build_exploration_plan(state, cohort).n_folds
    kinds = [kind for kind in space.valid_kinds(shape) if predicted_seconds(kind, shape) <= fits]
    return warm_start(
        meta_features(cohort),
        statistics,
        kinds,
        mode=cohort.mode,
        metric=settings.metric_identity,
        agnostic=settings.optimizer.options(),
    )


def teaching_statistics(store: Store, search_id: str, metric: str, cohort: Cohort) -> list[CohortStatistics]:
    """Statistics of earlier and open cohorts of this mode and metric; copies of the cohort may be among them."""
    earlier = store.earlier_statistics(search_id, metric)
    shipped = shipped_statistics([feature.name for feature in cohort.features])
    return comparable_statistics([*earlier, *shipped], cohort.mode, metric)
