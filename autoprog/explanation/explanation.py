"""Refit an ensemble to training folds, and ask it out of fold what its inputs are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from autoprog.cohort import Cohort, WindowSchema
from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.ensemble import Scale
from autoprog.evaluation import Plan
from autoprog.explanation.importance import InputImportance, measure_importance
from autoprog.explanation.learning_curve import SHARES, CurvePoint, shares_of
from autoprog.explanation.local_effects import Effect, EffectSums
from autoprog.explanation.refits import FoldEnsemble, Member, Refitting
from autoprog.explanation.typical_patients import TypicalPatients, explain_typical_patients
from autoprog.model import find_columns
from autoprog.performance import THRESHOLDS

_Floats = NDArray[np.float64]

MOST_SHUFFLES = 10
N_EFFECTS = 12
"""Inputs, the most important first, whose effects are part of an explanation."""

_PREDICTIONS = 2_000_000  # of shuffled rows, over all inputs
# Memory that fold ensembles may take until the effects are computed; others are fitted again.
_KEPT_BYTES = 1 << 29
_SHUFFLES_STREAM = 2**31 + 2


@dataclass(frozen=True, eq=False)
class Explanation:
    """What an ensemble has learnt from a cohort.

    Attributes
    ----------
    n_patients : int
        Rows that were predicted out of fold.
    folds, shuffles : int
        Folds of the refits, and shuffles of every input.
    importance : tuple of InputImportance
        All inputs, the most important first.
    effects : tuple of Effect
        The most important inputs' effects; none for visits, whose inputs have several columns.
    metric : str
        The search's metric, which the learning curve is of.
    learning_curve : tuple of CurvePoint
        Ascending; the last point is of whole training folds.
    typical : TypicalPatients or None
        Contributions to the risks of typical patients, who are nobody in the cohort; None for visits.
    """

    n_patients: int
    folds: int
    shuffles: int
    importance: tuple[InputImportance, ...]
    effects: tuple[Effect, ...]
    metric: str
    learning_curve: tuple[CurvePoint, ...]
    typical: TypicalPatients | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "n_patients": self.n_patients,
            "folds": self.folds,
            "shuffles": self.shuffles,
            "importance": [each.to_json() for each in self.importance],
            "effects": [each.to_json() for each in self.effects],
            "learning_curve": {"metric": self.metric, "points": [each.to_json() for each in self.learning_curve]},
            "typical": None if self.typical is None else self.typical.to_json(),
        }


def explain(cohort: Cohort, plan: Plan, members: Sequence[Member], scale: Scale) -> Explanation:
    """Measure importance and effects of an ensemble's inputs and its learning curve, and explain typical risks.

    Every member is refitted to the folds of the plan's first repeat, and to shares of them. The choice of the members
    and of their weights is not repeated, so that the scores are a little too good; the differences between inputs are
    hardly touched by it.

    Parameters
    ----------
    cohort : Cohort
        The patients of the search.
    plan : Plan
        The search's folds, metric and seed.
    members : sequence of Member
        The ensemble.
    scale : {"risk", "log_odds"}
        Scale of the ensemble's average.

    Returns
    -------
    Explanation
        Of the ensemble before its recalibration.

    Raises
    ------
    ValueError
        If no member can be fitted to a training fold.
    """
    refitting = Refitting(cohort, plan, members, scale)
    sampled = refitting.cohort
    endpoint = make_endpoint(sampled, plan.times, plan.thresholds or THRESHOLDS)
    visits = cohort.visits is not None
    windows = WindowSchema.of(cohort) if visits else None
    names = [feature.name for feature in (windows.features if windows else sampled.features)]
    found = _Asked(refitting, endpoint, find_columns(sampled.features, windows))
    kept: dict[int, FoldEnsemble] = {}
    held = 0  # bytes that the fitted ensembles take
    for number in range(plan.folds):
        before = _resident_bytes()
        fitted = refitting.fit(number)
        held += max(0, _resident_bytes() - before)
        found.ask(fitted)
        if not visits and held < _KEPT_BYTES:
            kept[number] = fitted
    q = endpoint.at_horizons(found.P)
    importance = [measure_importance(endpoint, name, q, found.shuffled[j]) for j, name in enumerate(names)]
    order = np.argsort([-each.size for each in importance], kind="stable")
    effects: tuple[Effect, ...] = ()
    typical = None
    if not visits:
        effects = _effects(refitting, endpoint, q, [int(j) for j in order[:N_EFFECTS]], kept)
        typical = explain_typical_patients(sampled, q, fitted, endpoint, [int(j) for j in order])
    return Explanation(
        n_patients=sampled.n_rows,
        folds=plan.folds,
        shuffles=found.shuffled.shape[1],
        importance=tuple(importance[j] for j in order),
        effects=effects,
        metric=plan.metric,
        learning_curve=_learning_curve(refitting, endpoint, found.P),
        typical=typical,
    )


class _Asked:
    """Risks out of fold: as they are, and with each input shuffled."""

    def __init__(self, refitting: Refitting, endpoint: Endpoint, groups: Sequence[slice]) -> None:
        sampled, horizons = refitting.cohort, len(endpoint.horizons)
        self._at_horizons = endpoint.at_horizons
        self._groups = groups
        n, p = sampled.n_rows, len(groups)
        shuffles = int(np.clip(_PREDICTIONS // max(1, n * p), 1, MOST_SHUFFLES))
        self.P = _no_risks(refitting)
        self.shuffled = np.zeros((p, shuffles, n, horizons), dtype=np.float32)
        self._rng = np.random.default_rng([refitting.plan.seed, _SHUFFLES_STREAM])

    def ask(self, ensemble: FoldEnsemble) -> None:
        """Predict the rows that a fold held out."""
        test = ensemble.test
        self.P[test] = ensemble.predict(np.copy)
        for j, columns in enumerate(self._groups):
            orders = [self._rng.permutation(len(test)) for _ in range(self.shuffled.shape[1])]
            told = ensemble.predict(partial(_exchange, columns=columns, orders=orders))
            self.shuffled[j][:, test] = self._at_horizons(told).reshape(len(orders), len(test), -1)


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def _effects(
    refitting: Refitting, endpoint: Endpoint, q: _Floats, inputs: Sequence[int], kept: dict[int, FoldEnsemble]
) -> tuple[Effect, ...]:
    """Effects of some inputs; `q` are the risks out of fold, (n, H), and `kept` is emptied."""
    sampled = refitting.cohort
    sums = [EffectSums(sampled.features[j], j, sampled.X[:, j], endpoint) for j in inputs]
    for number in range(refitting.plan.folds):
        ensemble = kept.pop(number, None) or refitting.fit(number)
        for j, of_input in zip(inputs, sums, strict=True):
            of_input.add(ensemble, sampled.X[ensemble.test, j], q[ensemble.test])
    return tuple(effect for each in sums if (effect := each.effect()) is not None)


def _exchange(X: _Floats, columns: slice, orders: Sequence[NDArray[np.intp]]) -> _Floats:
    """Copies of a table, one below another, each with some columns in another order of rows."""
    copies = np.tile(X, (len(orders), 1))
    copies[:, columns] = np.concatenate([X[order, columns] for order in orders])
    return copies


def _learning_curve(refitting: Refitting, endpoint: Endpoint, whole: _Floats) -> tuple[CurvePoint, ...]:
    points = []
    for share in (*SHARES, 1.0):
        try:
            P, size = (whole, _mean_size(refitting)) if share == 1 else _refit_to(refitting, share)
        except ValueError:
            continue  # too few patients to fit any member
        score = endpoint.score(refitting.plan.metric_for(refitting.cohort), P, 0)
        points.append(CurvePoint(size, score.estimate, score.lower, score.upper))
    return tuple(points)


def _no_risks(refitting: Refitting) -> _Floats:
    return refitting.cohort.target.empty_risks(refitting.cohort.n_rows, refitting.plan.times)


def _mean_size(refitting: Refitting) -> int:
    plan = refitting.plan
    return round(float(np.mean([len(plan.fold(refitting.cohort, number).train) for number in range(plan.folds)])))


def _refit_to(refitting: Refitting, share: float) -> tuple[_Floats, int]:
    plan, keep = refitting.plan, shares_of(refitting, share)
    P = _no_risks(refitting)
    sizes = []
    for number in range(plan.folds):
        ensemble = refitting.fit(number, keep)
        P[ensemble.test] = ensemble.predict(np.copy)
        sizes.append(len(keep(plan.fold(refitting.cohort, number).train)))
    return P, round(float(np.mean(sizes)))
