"""Performance of a delivered model, as the API shows it, beside the simple pipeline's."""

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

# With fewer resamples, the width of an interval is uncertain by more than 5 %.
_ENOUGH_RESAMPLES = 200


class Choice(NamedTuple):
    """How an ensemble was chosen."""

    rule: WeighingRule
    # Evaluations that the rule chose but that could not be refitted, or not in time.
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
    """Document of the ensemble: its corrected score, calibration and net benefit, and the simple pipeline's."""
    history = candidates.history
    y, groups, metric = patients.y, patients.groups, history.metric
    averaged = ensemble.out_of_fold_risks(history)
    # The same seed for both, so that they can be compared.
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
    """Document of the simple pipeline, or of the nearest to it in the space; None if it has no risks."""
    simple = history.evaluations[0]
    if simple.risks is None or recalibrated is None:
        return None
    # The simple pipeline was not chosen, so its score needs no correction.
    return {
        "configuration": simple.configuration.to_json(),
        "score": score(scored_risks(history.metric, simple.risks, recalibrated)).to_json(),
        **measured(simple.risks, recalibrated),
    }


def subgroup_documents(
    ensemble: Ensemble, cohort: Cohort, history: History, names: Sequence[str] | None, seed: int
) -> list[dict[str, Any]]:
    """Performance of the ensemble in each subgroup, by default of sex and age."""
    names = usual_subgroups(cohort.features) if names is None else names
    risks = cross_fitted(cohort.y, ensemble.out_of_fold_risks(history), np.random.default_rng(seed), cohort.groups)
    return [s.to_json() for s in measure_subgroups(cohort, risks, names)]


def scored_risks(metric: Metric, p: _Risks, recalibrated: _Risks) -> _Risks:
    """Risks that a metric scores: the raw ones if only ranks count, else the cross-fitted ones."""
    # The model's single recalibration keeps the ranking; the several maps of cross-fitting do not.
    return p if metric.ranks_only else recalibrated


def _with_slope(performance: Performance, slope: Coefficient | None) -> Performance:
    """Replace the slope by the delivered model's: that of cross-fitted risks is too low."""
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
    """Rule, scale, members and score, corrected for choosing the weights on the same patients."""
    weights = {m.number: m.weight for m in ensemble.members}
    w = np.array([weights.get(number, 0.0) for number in candidates.numbers])
    rng = np.random.default_rng(seed)
    # What the delivered ensemble lost is lost in every resample too: else the score would be another model's.
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
    """Remove lost pipelines from a rule's choices; w where nothing else is left."""
    if not lost.any():
        return choose

    def left(c: NDArray[np.float32], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        W = np.where(lost, 0.0, choose(c, gains))
        total = W.sum(axis=1, keepdims=True)
        return np.where(total > 0, W / np.where(total > 0, total, 1.0), w)

    return left


def correction_warnings(document: Mapping[str, Any]) -> list[str]:
    """Warn if the score's correction rests on few resamples."""
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
    """Warn if a search by ranking chose probabilities that are worse than the simple pipeline's."""
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
