"""Outcomes without a time: 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.cohort.messages import count_text
from autoprog.endpoints.endpoint import Assessed, CauseRisks, Real, Risks, compared_by_rank, few_of_an_outcome
from autoprog.ensemble import Ensemble
from autoprog.evaluation import History
from autoprog.interpreter import BinaryOutcome, Clusters
from autoprog.performance import (
    METRICS,
    Metric,
    Performance,
    ScoreEstimate,
    brier_skill,
    calibration_curve,
    compute_calibration,
    compute_performance,
    decision_curve,
    estimate_score,
    make_metric,
    measure_subgroups,
    observed_shares,
    operating_document,
    risk_distribution,
)
from autoprog.survival import Interval
from autoprog.validation import (
    Beside,
    Corrected,
    Correction,
    CurveOf,
    Figure,
    Patients,
    Recalibration,
    Stop,
    Weighing,
    compute_gains,
    correct_performance,
    corrected_score,
    cross_fitted,
    delivered_slope,
    fit_recalibration,
    frequency_curves,
    shrunk_recalibration,
)

_SCORES = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit")
_MIN_OF_EACH = 2


@dataclass(frozen=True, eq=False)
class BinaryEndpoint:
    """An `Endpoint` of 0 and 1."""

    cohort: Cohort
    times: tuple[float, ...]
    thresholds: tuple[float, float]

    horizons = (None,)
    metrics = tuple(METRICS)
    unscored = (
        "the groups cannot be split into {folds} folds that all hold both outcomes",
        "more would leave some without one of the two outcomes, since groups are not split",
    )

    @property
    def y(self) -> NDArray[np.int8]:
        return self.cohort.y

    def scarcest(self, metric: str) -> tuple[str, tuple[NDArray[np.bool_], ...]]:
        return "of the smaller class", (self.y == 1, self.y == 0)

    def scorable(self, metric: str) -> Callable[[NDArray[np.intp]], bool]:
        return lambda part: bool(0 < self.y[part].mean() < 1)

    def causes(self, ensemble: Ensemble, history: History) -> None:
        return None

    def validation_faults(self, horizons: Sequence[float]) -> list[str]:
        n, events = self.cohort.n_rows, self.count_events()
        if min(events, n - events) >= _MIN_OF_EACH:
            return []
        wanted = f"at least {_MIN_OF_EACH} must have it, and {_MIN_OF_EACH} not"
        return [f"of {count_text(n, self.cohort.outcome.row)} {events} have the outcome; {wanted}"]

    def update_faults(self, horizons: Sequence[float], least: int) -> list[str]:
        return few_of_an_outcome(self.cohort, self.y == 1, self.y == 0, least)

    def count_rarer(self) -> int:
        return self.cohort.target.count_rarer(self.y)

    def seen(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        return self.known_outcomes(0)

    def probabilities(self, P: Risks) -> NDArray[np.float64]:
        return self.cohort.target.probabilities(P, self.y, ())

    def at_horizons(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., None]

    def fit_recalibration(self, P: Risks) -> Recalibration:
        return shrunk_recalibration(self.y, P)

    def fit_update(self, P: Risks, *, slope: bool) -> Recalibration:
        if slope:
            return fit_recalibration(self.y, P)
        return Recalibration(compute_calibration(self.y, P).intercept.estimate, 1.0)

    def fit_competing(
        self,
        F: NDArray[np.float64],
        y: NDArray[np.void] | None = None,
        *,
        shrunk: bool = True,
        slope: bool = True,
    ) -> tuple[Recalibration, ...]:
        return ()

    def cross_fit(self, P: Risks, seed: int) -> NDArray[np.float64]:
        return cross_fitted(self.y, P, np.random.default_rng(seed), self.cohort.groups)

    def score(self, metric: Metric, P: Risks, seed: int) -> ScoreEstimate:
        return estimate_score(metric, self.y, P, self.cohort.groups)

    def corrected_score(
        self,
        metric: Metric,
        reported: Risks,
        P: Risks,
        w: NDArray[np.float64],
        *,
        weighing: Weighing,
        rng: np.random.Generator,
        stop: Stop,
        simple: Risks | None = None,
    ) -> Corrected:
        patients = Patients(self.y, self.cohort.groups)
        others = [make_metric(name, self.thresholds) for name in _SCORES if name != metric.name]
        figures = [Figure.of(other) for other in others]
        return corrected_score(
            metric, patients, reported, P, w, weighing=weighing, rng=rng, stop=stop, beside=Beside(figures, simple)
        )

    def summary(self, risks: Assessed, correction: Correction | None = None) -> dict[str, Any]:
        performance = compute_performance(
            self.y, risks.recalibrated, self.thresholds, self.cohort.groups, ranked=risks.raw
        )
        if correction is not None:
            performance = correct_performance(performance, correction)
        return {"performance": _with_slope(performance, self._slope(risks.raw)).to_json()}

    def details(
        self,
        risks: Assessed,
        baseline: Assessed | None,
        causes: NDArray[np.float64] | None,
        seed: int,
        correction: Correction | None = None,
    ) -> dict[str, Any]:
        y, groups, p = self.y, self.cohort.groups, risks.recalibrated
        curve = calibration_curve(y, p, groups=groups)
        found = {} if baseline is None else compute_gains(y, risks, baseline, self.thresholds, groups, correction)
        simple = None if baseline is None else baseline.recalibrated
        return {
            "gain_over_baseline": {name: gain.to_json() for name, gain in found.items()} if found else None,
            "calibration": {
                **replace(compute_calibration(y, p, groups), slope=self._slope(risks.raw)).to_json(),
                "raw": compute_calibration(y, risks.raw, groups).to_json(),
            },
            "calibration_curve": None if curve is None else curve.to_json(),
            "risk_distribution": risk_distribution(y, p).to_json(),
            "net_benefit": decision_curve(y, p, simple, self.thresholds, groups).to_json(),
            "operating": operating_document(y, p, self.thresholds, groups=groups, ranked=risks.raw),
        }

    def _slope(self, p: Risks) -> Interval | None:
        return delivered_slope(self.y, p, shrunk_recalibration(self.y, p), self.cohort.groups)

    def gains(self, P: Risks, Q: Risks) -> list[dict[str, Interval]]:
        p, q = P[:, 0], Q[:, 0]
        return [compute_gains(self.y, (p, p), (q, q), self.thresholds, self.cohort.groups)]

    def subgroups(self, P: Risks, names: Sequence[str]) -> list[dict[str, Any]]:
        return [found.to_json() for found in measure_subgroups(self.cohort, P, names)]

    def validation(self, P: Risks, causes: CauseRisks | None, seed: int) -> dict[str, Any]:
        y, groups = self.y, self.cohort.groups
        curve = calibration_curve(y, P, groups=groups)
        return {
            "n_events": self.count_events(),
            "expected_events": float(P.sum()),
            "scores": {
                name: estimate_score(make_metric(name, self.thresholds), y, P, groups, out_of_fold=False).to_json()
                for name in _SCORES
            },
            "performance": compute_performance(y, P, self.thresholds, groups).to_json(),
            "calibration": compute_calibration(y, P, groups).to_json(),
            "net_benefit": decision_curve(y, P, None, self.thresholds, groups).to_json(),
            "calibration_curve": None if curve is None else curve.to_json(),
            "risk_distribution": risk_distribution(y, P).to_json(),
            "operating": operating_document(y, P, self.thresholds, groups=groups),
        }

    def observe_strata(self, k: int, stratum: NDArray[np.int64], n_strata: int) -> list[dict[str, Any]]:
        return observed_shares(self.y, stratum, n_strata, self.cohort.groups, self.cohort.patient)

    def observed(self, k: int) -> BinaryOutcome:
        return BinaryOutcome(self.y, Clusters.of(self.cohort))

    def known_outcomes(self, k: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        return self.y, np.ones(len(self.y))

    def observed_curve(self, k: int, rows: NDArray[np.intp]) -> CurveOf:
        return frequency_curves(self.y[rows])

    def place_instability(self, document: dict[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
        document["instability"] = found[0] if found else None

    def ranking_warnings(self, history: History) -> list[str]:
        compared = compared_by_rank(history)
        if compared is None:
            return []
        of_best, of_simple = (brier_skill(self.y, risks) for risks in compared)
        if of_best >= of_simple:
            return []
        warning = (
            f"the search was by {history.metric.name}; the best configuration's Brier skill {of_best:.3f} is below the "
            f"simple model's {of_simple:.3f}: its ranking is better than its probabilities"
        )
        return [warning]

    def count_events(self) -> int:
        return int(self.y.sum())


def _with_slope(performance: Performance, slope: Interval | None) -> Performance:
    """Replace the slope of cross-fitted risks, which is too low, by the delivered model's."""
    intervals = {name: found for name, found in performance.intervals.items() if name != "slope"}
    if slope is None:
        return replace(performance, slope=None, intervals=intervals)
    return replace(performance, slope=slope.estimate, intervals={**intervals, "slope": slope})
