"""Statistics that a search leaves to later ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autoprog.metalearning import CohortStatistics, learn_statistics, meta_features, reference_pipelines
from autoprog.search.loop import Exploration
from autoprog.search.planning import explored_space, space_for

# Seed that differs from the numbers of batches, which seed the proposals, and from the ensemble's.
_LEARNING_STREAM = 2**32 - 2


def collect_statistics(
    exploration: Exploration, teachers: Sequence[CohortStatistics], check: Callable[[], None]
) -> CohortStatistics | None:
    """Learn from a finished exploration; None with too few scores, or without the simple model."""
    state, cohort = exploration.state, exploration.cohort
    first = exploration.explored.evaluations[:1]
    # Gains are counted over the simple model.
    if not first or first[0].configuration.prediction.algorithm != cohort.outcome.simple_predictor:
        return None
    rng = np.random.default_rng([state.settings.seed, _LEARNING_STREAM])
    here = meta_features(cohort)
    explored, shape = explored_space(state, cohort)
    return learn_statistics(
        exploration.explored,
        space_for(state.settings, cohort),
        rng,
        cohort_id=state.cohort.sha256,  # until the store, which knows its identifier, keeps them
        meta_features=here,
        mode=cohort.mode,
        # What did well on comparable cohorts is judged here too.
        references=reference_pipelines(here, teachers, explored.valid_kinds(shape)),
        check=check,  # called every few seconds; raises to give up
    )
