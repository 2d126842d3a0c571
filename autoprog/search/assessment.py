"""How good what a search delivers is, as the API shows it: the ensemble beside the simple pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Candidates, Choose, Ensemble, WeighingRule, average
from autoprog.evaluation import History, Metric
from autoprog.validation import (
    Coefficient,
    Estimate,
    FollowedPatients,
    Patients,
    Performance,
    ScoreEstimate,
    Stop,
    Weighing,
    brier_skill,
    calibration_curve,
    compute_calibration,
    compute_gains,
    compute_performance,
    corrected_score,
    cross_fitted,
    decision_curve,
    delivered_slope,
    estimate_score,
    measure_subgroups,
    never,
    risk_distribution,
    shrunk_recalibration,
    usual_subgroups,
)

_Risks = NDArray[np.floating]

# Below so many resamples the width of an interval is uncertain by more than 5 %.
_ENOUGH_RESAMPLES = 200


class Choice(NamedTuple):
    """How an ensemble came about.

    Attributes
    ----------
    rule : WeighingRule
        By which it was chosen.
    lost : frozenset of int
        Evaluations that the rule had chosen, and that are no members as they could not be refitted, or not in time.
    """

    rule: WeighingRule
    lost: frozenset[int] = frozenset()


def ensemble_document(
    ensemble: Ensemble,
    patients: Patients,
    candidates: Candidates,
    choice: Choice,
    thresholds: tuple[float, float],
    seed: int,
    *,
    stop: Stop = never,
) -> dict[str, Any]:
    """The ensemble, its score, calibration and net benefit, and the simple pipeline's.

    The ensemble's score is corrected for having chosen the weights by the same patients.

    Parameters
    ----------
    ensemble : Ensemble
        Of some of the candidates.
    patients : Patients
        Those that were evaluated on.
    candidates : Candidates
        What it was chosen from.
    choice : Choice
        How it was chosen.
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
    y, groups, metric = patients.y, patients.groups, history.metric
    averaged = ensemble.out_of_fold_risks(history)
    risks = cross_fitted(y, averaged, np.random.default_rng(seed), groups)
    simple = history.evaluations[0].risks
    simple_risks = None if simple is None else cross_fitted(y, simple, np.random.default_rng(seed), groups)

    def measured(p: _Risks, recalibrated: _Risks) -> dict[str, Any]:
        performance = compute_performance(y, recalibrated, thresholds, groups, ranked=p)
        return {"performance": _with_slope(performance, estimate_slope(p)).to_json()}

    def estimate_slope(p: _Risks) -> Coefficient | None:
        return delivered_slope(y, p, shrunk_recalibration(y, p), groups)

    def score(p: _Risks) -> ScoreEstimate:
        return estimate_score(metric, y, p, groups)

    scored = scored_risks(metric, averaged, risks)
    curve = calibration_curve(y, risks, groups=groups)
    gains = None
    if simple is not None and simple_risks is not None:
        found = compute_gains(y, (averaged, risks), (simple, simple_risks), thresholds, groups)
        gains = {name: gain.to_json() for name, gain in found.items()}
    return {
        **chosen_document(corrected_score, ensemble, patients, scored, candidates, choice, seed=seed, stop=stop),
        **measured(averaged, risks),
        "baseline": baseline_document(history, simple_risks, score, measured),
        "gain_over_baseline": gains,
        "calibration": {
            **replace(compute_calibration(y, risks, groups), slope=estimate_slope(averaged)).to_json(),
            "raw": compute_calibration(y, averaged, groups).to_json(),
        },
        "calibration_curve": None if curve is None else curve.to_json(),
        "risk_distribution": risk_distribution(y, risks).to_json(),
        "net_benefit": decision_curve(y, risks, simple_risks, thresholds, groups).to_json(),
    }


def baseline_document(
    history: History,
    recalibrated: _Risks | None,
    score: Callable[[_Risks], ScoreEstimate],
    measured: Callable[[_Risks, _Risks], dict[str, Any]],
) -> dict[str, Any] | None:
    """The simple pipeline, as the API shows it beside the ensemble.

    It was not chosen, so that its score needs no correction.

    Parameters
    ----------
    history : History
        Its first evaluation is the simple pipeline's, or that of what comes nearest to it in the space.
    recalibrated : ndarray or None
        Its out-of-fold risks, recalibrated by other patients; None where it could not be evaluated.
    score : callable (risks) -> ScoreEstimate
        Of risks as `scored_risks` gives them.
    measured : callable (risks, recalibrated risks) -> dict
        What is told of the ensemble too.

    Returns
    -------
    dict or None
        Ready for JSON; None where it could not be evaluated.
    """
    simple = history.evaluations[0]
    if simple.risks is None or recalibrated is None:
        return None
    return {
        "configuration": simple.configuration.to_json(),
        "score": score(scored_risks(history.metric, simple.risks, recalibrated)).to_json(),
        **measured(simple.risks, recalibrated),
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
        Seeds the parts of the recalibration.

    Returns
    -------
    list of dict
        Ready for JSON.
    """
    names = usual_subgroups(cohort.features) if names is None else names
    risks = cross_fitted(cohort.y, ensemble.out_of_fold_risks(history), np.random.default_rng(seed), cohort.groups)
    return [s.to_json() for s in measure_subgroups(cohort, risks, names)]


def scored_risks(metric: Metric, p: _Risks, recalibrated: _Risks) -> _Risks:
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


def _with_slope(performance: Performance, slope: Coefficient | None) -> Performance:
    """With the slope of the delivered model: that of cross-fitted risks is too low."""
    intervals = {name: found for name, found in performance.intervals.items() if name != "slope"}
    if slope is None:
        return replace(performance, slope=None, intervals=intervals)
    intervals["slope"] = Estimate(slope.estimate, slope.lower, slope.upper)
    return replace(performance, slope=slope.estimate, intervals=intervals)


def chosen_document(
    score: Callable[..., ScoreEstimate],
    ensemble: Ensemble,
    patients: Patients | FollowedPatients,
    scored: _Risks,
    candidates: Candidates,
    choice: Choice,
    *,
    seed: int,
    stop: Stop,
) -> dict[str, Any]:
    """What was chosen, and its score, corrected for having chosen the weights by the same patients.

    What was lost on the way from the rule's choice to the delivered ensemble is lost in every resample, too: else the
    score would be that of a model that is not delivered.

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
    choice : Choice
        How it was chosen.
    seed : int
        Of the resamples.
    stop : callable () -> bool
        Whether their time is over.

    Returns
    -------
    dict
        Ready for JSON: `rule`, `scale`, `members`, `score`.
    """
    weights = {m.number: m.weight for m in ensemble.members}
    w = np.array([weights.get(number, 0.0) for number in candidates.numbers])
    rng = np.random.default_rng(seed)
    choose = _without(np.isin(candidates.numbers, list(choice.lost)), w, choice.rule.reweigh(candidates, rng))
    corrected = score(
        candidates.history.metric,
        patients,
        scored,
        candidates.risks,
        w,
        weighing=Weighing(choose, lambda w, p: average(w, p, ensemble.scale)),
        rng=rng,
        stop=stop,
    )
    return {
        "rule": choice.rule.name,
        "scale": ensemble.scale,
        "members": [
            {"weight": m.weight, "configuration": m.configuration.to_json(), "score": m.score} for m in ensemble.members
        ],
        "score": corrected.to_json(),
    }


def _without(lost: NDArray[np.bool_], w: NDArray[np.float64], choose: Choose) -> Choose:
    """A rule whose choices lose some pipelines; w where nothing else is left."""
    if not lost.any():
        return choose

    def left(c: NDArray[np.float32], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        W = np.where(lost, 0.0, choose(c, gains))
        total = W.sum(axis=1, keepdims=True)
        return np.where(total > 0, W / np.where(total > 0, total, 1.0), w)

    return left


def correction_warnings(document: Mapping[str, Any]) -> list[str]:
    """Whether the score's correction rests on few resamples.

    Parameters
    ----------
    document : mapping
        With `score`, as `chosen_document` gives it.

    Returns
    -------
    list of str
        At most one.
    """
    made = document["score"]["resamples"]
    if made is None or made >= _ENOUGH_RESAMPLES:
        return []
    error = 100 / (2 * made) ** 0.5
    warning = (
        f"the score was corrected by {made} resamples of the patients, as time or size allowed no more: the width of "
        f"its interval is uncertain by {error:.0f} %"
    )
    return [warning]


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
