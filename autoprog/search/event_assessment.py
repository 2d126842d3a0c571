"""Performance of a delivered model of event times, as the API shows it, beside the simple pipeline's.

F    out-of-fold risks until the times of the search                       (n, T)
h    the client's horizons, some of these times                            (H,)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Candidates, Ensemble
from autoprog.evaluation import ScoringContext, make_event_metric
from autoprog.search.assessment import Choice, baseline_document, chosen_document, scored_risks
from autoprog.validation import (
    CausesOfPatients,
    FollowedPatients,
    ScoreEstimate,
    Stop,
    calibration_document,
    cause_documents,
    corrected_event_score,
    cross_fitted_competing,
    cross_fitted_events,
    distribution_document,
    estimate_event_score,
    horizon_documents,
    measure_event_subgroups,
    never,
    overall_performance,
    usual_subgroups,
)


def event_document(
    ensemble: Ensemble,
    patients: FollowedPatients,
    candidates: Candidates,
    choice: Choice,
    causes: CausesOfPatients | None = None,
    *,
    thresholds: tuple[float, float],
    seed: int,
    stop: Stop = never,
) -> dict[str, Any]:
    """Document of the ensemble: its corrected score and its measures at each horizon, and the simple pipeline's."""
    history, (y, follow_up, groups) = candidates.history, patients
    averaged = ensemble.out_of_fold_risks(history)
    # The same seed for both, so that they can be compared.
    F = cross_fitted_events(y, averaged, follow_up, np.random.default_rng(seed), groups)
    simple = history.evaluations[0].risks
    simple_F = (
        None if simple is None else cross_fitted_events(y, simple, follow_up, np.random.default_rng(seed), groups)
    )

    def measured(_: NDArray[np.floating], recalibrated: NDArray[np.floating]) -> dict[str, Any]:
        return {"overall": overall_performance(y, recalibrated, follow_up)}

    def score(risks: NDArray[np.floating]) -> ScoreEstimate:
        return estimate_event_score(history.metric, patients, risks, np.random.default_rng(seed))

    scored = scored_risks(history.metric, averaged, F)
    horizons = horizon_documents(y, F, simple_F, follow_up, thresholds, groups)
    if causes is not None:
        of_interest = F[:, follow_up.at_horizons]
        told = cross_fitted_competing(y, causes.F, of_interest, follow_up, np.random.default_rng(seed), groups)
        for k, document in enumerate(horizons):
            document["causes"] = cause_documents(y, told[:, :, k], causes.names, document["horizon"], groups)
    return {
        **chosen_document(corrected_event_score, ensemble, patients, scored, candidates, choice, seed=seed, stop=stop),
        **measured(averaged, F),
        "d_calibration": distribution_document(y, F, follow_up),
        "baseline": baseline_document(history, simple_F, score, measured),
        "calibration": calibration_document(horizons),
        "horizons": horizons,
    }


def event_subgroup_documents(
    ensemble: Ensemble, cohort: Cohort, candidates: Candidates, names: Sequence[str] | None, seed: int
) -> list[dict[str, Any]]:
    """Performance of the ensemble until the last horizon in each subgroup, by default of sex and age."""
    follow_up = candidates.follow_up
    assert follow_up is not None  # noqa: S101  of event times
    names = usual_subgroups(cohort.features) if names is None else names
    averaged = ensemble.out_of_fold_risks(candidates.history)
    F = cross_fitted_events(candidates.y, averaged, follow_up, np.random.default_rng(seed), cohort.groups)
    found = measure_event_subgroups(cohort, F, follow_up, names)
    return [subgroup.to_json() for subgroup in found]


def simple_warnings(candidates: Candidates, follow_up: ScoringContext) -> list[str]:
    """Warn if a search by ranking chose risks that are further off than the simple pipeline's."""
    history = candidates.history
    best, simple = history.best(), history.evaluations[0]
    if not history.metric.ranks_only or best is None or best.risks is None or simple.risks is None:
        return []
    loss = make_event_metric("integrated_brier", follow_up)
    of_best, of_simple = loss.score(candidates.y, best.risks), loss.score(candidates.y, simple.risks)
    if of_best <= of_simple:
        return []
    warning = (
        f"the search was by {history.metric.name}; the best configuration's integrated Brier score {of_best:.4f} is "
        f"above the simple model's {of_simple:.4f}: its ranking is better than its probabilities"
    )
    return [warning]
