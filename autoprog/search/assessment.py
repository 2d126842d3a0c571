"""How good what a search delivers is, as the API shows it: the ensemble beside the simple pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Candidates, Ensemble, Rule, average
from autoprog.evaluation import METRICS, History, Metric
from autoprog.validation import (
    FollowedPatients,
    Patients,
    Performance,
    ScoreEstimate,
    Stop,
    Weighing,
    brier_skill,
    calibration_curve,
    calibration_of,
    corrected_score,
    cross_fitted,
    decision_curve,
    estimate_score,
    measure_subgroups,
    never,
    performance_of,
    risk_distribution,
    usual_subgroups,
)


def ensemble_document(
    ensemble: Ensemble,
    patients: Patients,
    candidates: Candidates,
    rule: Rule,
    thresholds: tuple[float, float],
    seed: int,
    *,
    stop: Stop = never,
) -> dict[str, Any]:
    """The ensemble, its score, calibration and net benefit, and the simple pipeline's.

    The ensemble's score is corrected for having chosen the weights by the same patients. The simple pipeline was not
    chosen.

    Parameters
    ----------
    ensemble : Ensemble
        Of some of the candidates.
    patients : Patients
        Those that were evaluated on.
    candidates : Candidates
        What it was chosen from.
    rule : Rule
        By which it was chosen.
    thresholds : tuple of float
        Range of the net benefit.
    seed : int
        Seeds the parts of the recalibration and the bootstrap, the same for both so that they can be compared.
    stop : callable () -> bool
        Whether the time for the score's correction is over.

    Returns
    -------
    dict
        Ready for JSON.
    """
    history = candidates.history
    y, metric = patients.y, history.metric
    averaged = ensemble.out_of_fold_risks(history)
    risks = cross_fitted(y, averaged, np.random.default_rng(seed))
    simple = history.evaluations[0]  # the first of every search, or what comes nearest to it in the space
    simple_risks = None
    baseline = None
    if simple.risks is not None:
        simple_risks = cross_fitted(y, simple.risks, np.random.default_rng(seed))
        scored = scored_risks(metric, simple.risks, simple_risks)
        baseline = {
            "configuration": simple.configuration.to_json(),
            "score": estimate_score(metric, y, scored, np.random.default_rng(seed), patients.groups).to_json(),
            "performance": _performance(y, simple.risks, simple_risks, thresholds).to_json(),
        }
    scored = scored_risks(metric, averaged, risks)
    curve = calibration_curve(y, risks)
    return {
        "rule": rule.name,
        "scale": ensemble.scale,
        "members": members_document(ensemble),
        "score": corrected(
            corrected_score, ensemble, patients, scored, candidates, rule, seed=seed, stop=stop
        ).to_json(),
        "performance": _performance(y, averaged, risks, thresholds).to_json(),
        "baseline": baseline,
        "calibration": calibration_of(y, risks).to_json(),
        "calibration_curve": None if curve is None else curve.to_json(),
        "risk_distribution": risk_distribution(y, risks).to_json(),
        "net_benefit": decision_curve(y, risks, simple_risks, thresholds).to_json(),
    }


def subgroup_documents(
    ensemble: Ensemble, cohort: Cohort, history: History, names: Sequence[str] | None, seed: int
) -> list[dict[str, Any]]:
    """How good the ensemble is in every subgroup.

    Parameters
    ----------
    ensemble : Ensemble
        Of members of `history`.
    cohort : Cohort
        The patients that were evaluated on.
    history : History
        The search.
    names : sequence of str or None
        Features of the cohort; None for those that tell sex and age.
    seed : int
        Seeds the parts of the recalibration and the bootstrap.

    Returns
    -------
    list of dict
        Ready for JSON.
    """
    names = usual_subgroups(cohort.features) if names is None else names
    risks = cross_fitted(cohort.y, ensemble.out_of_fold_risks(history), np.random.default_rng(seed))
    return [s.to_json() for s in measure_subgroups(cohort, risks, names, np.random.default_rng(seed))]


def scored_risks(metric: Metric, p: NDArray[np.floating], recalibrated: NDArray[np.floating]) -> NDArray[np.floating]:
    """Which risks tell how the delivered model does by a metric.

    Parameters
    ----------
    metric : Metric
        The measure.
    p : ndarray
        Out-of-fold risks.
    recalibrated : ndarray of the same shape
        The same, recalibrated by other patients.

    Returns
    -------
    ndarray
        Those as they are where ranks alone count: the model's one recalibration keeps the ranking; the many of
        cross-fitting do not.
    """
    return p if metric.ranks_only else recalibrated


def _performance(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    recalibrated: NDArray[np.floating],
    thresholds: tuple[float, float],
) -> Performance:
    p = np.asarray(p, dtype=np.float64)
    return replace(
        performance_of(y, recalibrated, thresholds),
        auc_roc=METRICS["auc_roc"].score(y, p),
        auc_prc=METRICS["auc_prc"].score(y, p),
    )


def corrected(
    score: Callable[..., ScoreEstimate],
    ensemble: Ensemble,
    patients: Patients | FollowedPatients,
    scored: NDArray[np.floating],
    candidates: Candidates,
    rule: Rule,
    *,
    seed: int,
    stop: Stop,
) -> ScoreEstimate:
    """The ensemble's score, corrected for having chosen the weights by the same patients.

    Parameters
    ----------
    score : callable
        `corrected_score`, or `corrected_event_score` of event times.
    ensemble : Ensemble
        Of some of the candidates.
    patients : Patients or FollowedPatients
        Those that were evaluated on, as `score` takes them.
    scored : ndarray
        The ensemble's risks as `scored_risks` gives them.
    candidates : Candidates
        What it was chosen from.
    rule : Rule
        By which it was chosen.
    seed : int
        Of the resamples.
    stop : callable () -> bool
        Whether their time is over.

    Returns
    -------
    ScoreEstimate
        With its interval.
    """
    weights = {m.number: m.weight for m in ensemble.members}
    rng = np.random.default_rng(seed)
    return score(
        candidates.history.metric,
        patients,
        scored,
        candidates.risks,
        np.array([weights.get(number, 0.0) for number in candidates.posterior.numbers]),
        weighing=Weighing(rule.revise(candidates, rng), lambda w, p: average(w, p, ensemble.scale)),
        rng=rng,
        stop=stop,
    )


def members_document(ensemble: Ensemble) -> list[dict[str, Any]]:
    """The members as the API shows them."""
    return [
        {"weight": m.weight, "configuration": m.configuration.to_json(), "score": m.score} for m in ensemble.members
    ]


def calibration_warnings(history: History, y: NDArray[np.integer]) -> list[str]:
    """Whether a search by ranking has picked a configuration whose probabilities are worse than the simple pipeline's.

    Parameters
    ----------
    history : History
        The search, with at least one evaluation.
    y : ndarray, shape = (n_patients,)
        0 and 1; the patients that were evaluated on.

    Returns
    -------
    list of str
        At most one.
    """
    best, simple = history.best(), history.evaluations[0]
    if not history.metric.ranks_only or best is None or best.risks is None or simple.risks is None:
        return []
    of_best, of_simple = brier_skill(y, best.risks), brier_skill(y, simple.risks)
    if of_best >= of_simple:
        return []
    warning = (
        f"the search was by {history.metric.name}; the best configuration's Brier skill {of_best:.3f} is below the "
        f"simple model's {of_simple:.3f}: its ranking is better than its probabilities"
    )
    return [warning]
