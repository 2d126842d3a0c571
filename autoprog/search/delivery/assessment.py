"""How good what a search delivers is, as the API shows it: the ensemble beside the simple pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.endpoints import Assessed, Endpoint
from autoprog.ensemble import Candidates, Choose, Ensemble, WeighingRule, average
from autoprog.evaluation import History, Plan
from autoprog.performance import Metric, usual_subgroups
from autoprog.validation import Corrected, Stop, Weighing, never

# Below so many resamples the width of an interval is uncertain by more than 5 %.
_ENOUGH_RESAMPLES = 200
_LOSSES_STREAM = 2**31 + 7


class Choice(NamedTuple):
    """The rule that chose an ensemble."""

    rule: WeighingRule
    # Evaluations that the rule chose, and that could not be refitted, or not in time.
    lost: frozenset[int] = frozenset()


@dataclass(frozen=True)
class FittedEnsemble:
    """An ensemble, what it was chosen from, and the outcome that it is measured by."""

    ensemble: Ensemble
    candidates: Candidates
    choice: Choice
    endpoint: Endpoint
    plan: Plan

    @property
    def history(self) -> History:
        """The evaluations that the members are from."""
        return self.candidates.history

    @property
    def cohort(self) -> Cohort:
        """The patients of these evaluations."""
        return self.endpoint.cohort

    @cached_property
    def averaged(self) -> NDArray[np.float64]:
        """The members' out-of-fold risks, averaged, shape = (n,) or (n, n_times)."""
        return self.ensemble.out_of_fold_risks(self.history)

    @cached_property
    def causes(self) -> NDArray[np.float64] | None:
        """Their out-of-fold risks of all causes, shape = (n, n_causes, n_horizons); None where none competes."""
        return self.endpoint.causes(self.ensemble, self.history)


def ensemble_document(
    fitted: FittedEnsemble, *, seed: int, subgroups: Sequence[str] | None = None, stop: Stop = never
) -> dict[str, Any]:
    """The ensemble with its corrected score and measures, and the simple pipeline beside it, ready for JSON."""
    # Both are recalibrated in the same folds, so that they can be compared.
    endpoint, history = fitted.endpoint, fitted.history
    risks = Assessed(fitted.averaged, endpoint.cross_fit(fitted.averaged, seed))
    simple = history.simple.risks
    baseline = None if simple is None else Assessed(simple, endpoint.cross_fit(simple, seed))
    names = usual_subgroups(fitted.cohort.features) if subgroups is None else subgroups
    corrected = correct_score(fitted, scored_risks(history.metric, risks), seed=seed, stop=stop)
    return {
        **chosen_document(fitted, corrected),
        **endpoint.summary(risks, corrected.figures),
        "baseline": None if baseline is None else _baseline_document(endpoint, history, baseline, seed),
        **endpoint.details(risks, baseline, fitted.causes, seed, corrected.figures),
        "subgroups": endpoint.subgroups(risks.recalibrated, names),
    }


def _baseline_document(endpoint: Endpoint, history: History, baseline: Assessed, seed: int) -> dict[str, Any]:
    """The simple pipeline, which was not chosen, so that its score needs no correction."""
    return {
        "configuration": history.simple.configuration.to_json(),
        "score": endpoint.score(history.metric, scored_risks(history.metric, baseline), seed).to_json(),
        **endpoint.summary(baseline),
    }


def scored_risks(metric: Metric, risks: Assessed) -> NDArray[np.floating]:
    """Choose the risks that a metric is taken of."""
    # Ranks alone: the delivered model's one recalibration keeps the ranking, the many of cross-fitting do not.
    return risks.raw if metric.ranks_only else risks.recalibrated


def correct_score(fitted: FittedEnsemble, scored: NDArray[np.floating], *, seed: int, stop: Stop = never) -> Corrected:
    """Correct the score of these risks, and the other figures, for choosing the weights by the same patients."""
    ensemble, candidates, choice = fitted.ensemble, fitted.candidates, fitted.choice
    weights = {m.number: m.weight for m in ensemble.members}
    w = np.array([weights.get(number, 0.0) for number in candidates.numbers])
    rng = np.random.default_rng(seed)
    lost = np.isin(candidates.numbers, list(choice.lost))
    choose = _without(lost, w, choice.rule.reweigh(candidates, rng), np.random.default_rng([seed, _LOSSES_STREAM]))
    return fitted.endpoint.corrected_score(
        candidates.history.metric,
        scored,
        candidates.risks,
        w,
        weighing=Weighing(choose, lambda w, p: average(w, p, ensemble.scale)),
        rng=rng,
        stop=stop,
        simple=candidates.history.simple.risks,
    )


def chosen_document(fitted: FittedEnsemble, corrected: Corrected) -> dict[str, Any]:
    """The chosen members and their corrected score."""
    ensemble = fitted.ensemble
    return {
        "rule": fitted.choice.rule.name,
        "scale": ensemble.scale,
        "members": [
            {"weight": m.weight, "configuration": m.configuration.to_json(), "score": m.score} for m in ensemble.members
        ],
        "score": corrected.score.to_json(),
    }


def _without(lost: NDArray[np.bool_], w: NDArray[np.float64], choose: Choose, rng: np.random.Generator) -> Choose:
    """A rule whose choices lose some pipelines; w where nothing else is left."""
    # Chosen pipelines that could not be refitted are left out of every resample: the score is to be that of the
    # delivered model. Whether the others could have been refitted is unknown: as many of them are left out, at random.
    if not lost.any():
        return choose
    untried, rate = ~lost & (w == 0), lost.sum() / (lost | (w > 0)).sum()

    def left(c: NDArray[np.float32], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        W = choose(c, gains)
        gone = lost | (untried & (rng.random(W.shape) < rate))
        W = np.where(gone, 0.0, W)
        total = W.sum(axis=1, keepdims=True)
        return np.where(total > 0, W / np.where(total > 0, total, 1.0), w)

    return left


def correction_warnings(document: Mapping[str, Any]) -> list[str]:
    """Warn where the score's correction rests on few resamples."""
    made = document["score"]["resamples"]
    if made is None or made >= _ENOUGH_RESAMPLES:
        return []
    error = 100 / (2 * made) ** 0.5
    warning = (
        f"the score was corrected by {made} resamples of the patients, as time or size allowed no more: the width of "
        f"its interval is uncertain by {error:.0f} %"
    )
    return [warning]
