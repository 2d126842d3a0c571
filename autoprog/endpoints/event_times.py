"""Times to an event of interest, with or without competing causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.cohort.follow_up import horizon_fault
from autoprog.endpoints.endpoint import Assessed, CauseRisks, Real, Risks, compared_by_rank, few_of_an_outcome
from autoprog.ensemble import Ensemble
from autoprog.evaluation import History
from autoprog.interpreter import Clusters, IncidenceOutcome, ObservedOutcome
from autoprog.performance import (
    EVENT_METRICS,
    Metric,
    ScoreEstimate,
    ScoringContext,
    calibration_document,
    can_be_scored,
    compute_event_gains,
    distribution_document,
    horizon_documents,
    make_event_metric,
    measure_event_subgroups,
    measured_name,
    observed_incidences,
    overall_performance,
)
from autoprog.survival import Interval, ipcw_weights
from autoprog.validation import (
    Beside,
    Corrected,
    Correction,
    CurveOf,
    FollowedPatients,
    Recalibration,
    Stop,
    Weighing,
    cause_documents,
    correct_horizons,
    correct_overall,
    corrected_event_score,
    cross_fitted_competing,
    cross_fitted_events,
    estimate_event_score,
    event_figures,
    fit_competing,
    fit_event_recalibration,
    incidence_curves,
)


@dataclass(frozen=True, eq=False)
class EventEndpoint:
    """An `Endpoint` of event times."""

    cohort: Cohort
    times: tuple[float, ...]
    thresholds: tuple[float, float]

    metrics = EVENT_METRICS
    unscored = (
        "the patients cannot be split into {folds} folds that all have a score by the horizons",
        "more would leave some without patients whom the horizons tell apart",
    )

    @property
    def y(self) -> NDArray[np.void]:
        return self.cohort.outcomes

    @cached_property
    def context(self) -> ScoringContext:
        return ScoringContext.of(self.cohort, self.times)

    @property
    def horizons(self) -> tuple[float, ...]:
        return self.context.horizons

    @property
    def _patients(self) -> FollowedPatients:
        return FollowedPatients(self.y, self.context, self.cohort.groups)

    @property
    def _causes(self) -> tuple[str, ...]:
        return self.cohort.target.causes

    def scarcest(self, metric: str) -> tuple[str, tuple[NDArray[np.bool_], ...]]:
        # A measure at every horizon needs events by the first one, other measures by the last.
        until = self.cohort.horizons[0 if metric == "time_dependent_auc" else -1]
        return f"with the event by {until:g}", ((self.y["event"] == 1) & (self.y["time"] <= until),)

    def scorable(self, metric: str) -> Callable[[NDArray[np.intp]], bool]:
        asked = can_be_scored(metric, self.y, self.context)

        def among(part: NDArray[np.intp]) -> bool:
            rows = np.zeros(len(self.y), dtype=np.bool_)
            rows[part] = True
            return asked(rows)

        return among

    def causes(self, ensemble: Ensemble, history: History) -> NDArray[np.float64] | None:
        return ensemble.out_of_fold_causes(history, self.context.at_horizons)

    def validation_faults(self, horizons: Sequence[float]) -> list[str]:
        # With visits a patient counts once.
        time, of_interest = self.y["time"], self.y["event"] == 1
        _, patient = np.unique(self.cohort.patient, return_inverse=True)
        followed, events = np.full((2, self.cohort.n_patients), [[0.0], [np.inf]])
        np.maximum.at(followed, patient, time)
        np.minimum.at(events, patient[of_interest], time[of_interest])
        reasons = (horizon_fault(h, followed, events[np.isfinite(events)]) for h in horizons)
        return [f"the model's horizon {reason}" for reason in reasons if reason]

    def update_faults(self, horizons: Sequence[float], least: int) -> list[str]:
        had = (self.y["event"] == 1) & (self.y["time"] <= horizons[-1])
        # The outcome of patients who were lost before is unknown.
        had_not = (self.y["time"] > horizons[-1]) | (self.y["event"] > 1)
        return [*self.validation_faults(horizons), *few_of_an_outcome(self.cohort, had, had_not, least, horizons[-1])]

    def count_rarer(self) -> int:
        return self.cohort.target.count_rarer(self.y)

    def seen(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        t = np.array(self.times)
        w = ipcw_weights(self.y["time"], self.y["event"], t, self.context.censoring)
        seen = (self.y["event"] == 1)[:, None] & (self.y["time"][:, None] <= t)
        # Mean weight 1 per patient: penalties are meant for patients who count once.
        return seen.astype(np.int8), w / len(t)

    def probabilities(self, P: Risks) -> NDArray[np.float64]:
        return self.cohort.target.probabilities(P, self.y, self.times)

    def at_horizons(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., self.context.at_horizons]

    def fit_recalibration(self, P: Risks) -> Recalibration:
        return fit_event_recalibration(self.y, P, self.context, shrunk=True)

    def fit_update(self, P: Risks, *, slope: bool) -> Recalibration:
        return fit_event_recalibration(self.y, P, self.context, slope=slope)

    def fit_competing(
        self, F: NDArray[np.float64], y: NDArray[np.void] | None = None, *, shrunk: bool = True, slope: bool = True
    ) -> tuple[Recalibration, ...]:
        return fit_competing(self.y if y is None else y, F, self.context, slope=slope, shrunk=shrunk)

    def cross_fit(self, P: Risks, seed: int) -> NDArray[np.float64]:
        return cross_fitted_events(self.y, P, self.context, np.random.default_rng(seed), self.cohort.groups)

    def score(self, metric: Metric, P: Risks, seed: int) -> ScoreEstimate:
        return estimate_event_score(metric, self._patients, P, np.random.default_rng(seed))

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
        figures = [figure for figure in event_figures(self.context) if figure.name != metric.name]
        return corrected_event_score(
            metric,
            self._patients,
            reported,
            P,
            w,
            weighing=weighing,
            rng=rng,
            stop=stop,
            beside=Beside(figures, simple),
        )

    def summary(self, risks: Assessed, correction: Correction | None = None) -> dict[str, Any]:
        overall = overall_performance(self.y, risks.recalibrated, self.context, risks.raw)
        return {"overall": overall if correction is None else correct_overall(overall, self.context, correction)}

    def details(
        self,
        risks: Assessed,
        baseline: Assessed | None,
        causes: NDArray[np.float64] | None,
        seed: int,
        correction: Correction | None = None,
    ) -> dict[str, Any]:
        y, context, groups, F = self.y, self.context, self.cohort.groups, risks.recalibrated
        raw, simple = (None, None) if baseline is None else baseline
        horizons = horizon_documents(y, F, simple, context, self.thresholds, groups, ranked=(risks.raw, raw))
        if correction is not None:
            correct_horizons(horizons, correction)
        if causes is not None:
            rng = np.random.default_rng(seed)
            fitted = cross_fitted_competing(y, causes, F[:, context.at_horizons], context, rng, groups)
            self._add_causes(horizons, CauseRisks(fitted, y, self._causes))
        return {
            "d_calibration": distribution_document(y, F, context, self.cohort.groups),
            "calibration": calibration_document(horizons),
            "horizons": horizons,
        }

    def _add_causes(self, horizons: Sequence[dict[str, Any]], causes: CauseRisks) -> None:
        F, y, names = causes
        for k, document in enumerate(horizons):
            document["causes"] = cause_documents(y, F[:, :, k], names, document["horizon"], self.cohort.groups)

    def gains(self, P: Risks, Q: Risks) -> list[dict[str, Interval]]:
        y, groups = self.y, self.cohort.groups
        pairs = zip(P.T, Q.T, self.context.horizons, strict=True)
        return [compute_event_gains(y, (p, p), (q, q), horizon, groups) for p, q, horizon in pairs]

    def subgroups(self, P: Risks, names: Sequence[str]) -> list[dict[str, Any]]:
        return [found.to_json() for found in measure_event_subgroups(self.cohort, P, self.context, names)]

    def validation(self, P: Risks, causes: CauseRisks | None, seed: int) -> dict[str, Any]:
        context = self.context
        scores = {
            measured_name(name, context): estimate_event_score(
                make_event_metric(name, context), self._patients, P, np.random.default_rng(seed), out_of_fold=False
            ).to_json()
            for name in EVENT_METRICS
        }
        horizons = horizon_documents(self.y, P, None, context, self.thresholds, self.cohort.groups)
        if causes is not None:
            self._add_causes(horizons, causes)
        return {
            "n_events": self.count_events(),
            "expected_events": float(P[:, -1].sum()),
            "scores": scores,
            "overall": overall_performance(self.y, P, context),
            "d_calibration": distribution_document(self.y, P, context, self.cohort.groups),
            "calibration": calibration_document(horizons),
            "horizons": horizons,
        }

    def observe_strata(self, k: int, stratum: NDArray[np.int64], n_strata: int) -> list[dict[str, Any]]:
        return observed_incidences(
            self.y,
            stratum,
            n_strata,
            self.horizons[k],
            curve=k == len(self.horizons) - 1,
            grouped=self.cohort.groups is not None,
            patient=self.cohort.patient,
        )

    def observed(self, k: int) -> ObservedOutcome:
        return IncidenceOutcome(self.y["time"], self.y["event"], self.horizons[k], self._clusters)

    @cached_property
    def _clusters(self) -> Clusters:
        return Clusters.of(self.cohort)

    def known_outcomes(self, k: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        time, event, horizon = self.y["time"], self.y["event"], self.horizons[k]
        w = ipcw_weights(time, event, [horizon], self.context.censoring)[:, 0]
        return ((event == 1) & (time <= horizon)).astype(np.int8), w

    def observed_curve(self, k: int, rows: NDArray[np.intp]) -> CurveOf:
        return incidence_curves(self.y["time"][rows], self.y["event"][rows], self.horizons[k])

    def place_instability(self, document: dict[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
        for k, each in enumerate(document["horizons"]):
            each["instability"] = found[k] if found else None

    def ranking_warnings(self, history: History) -> list[str]:
        compared = compared_by_rank(history)
        if compared is None:
            return []
        loss = make_event_metric("integrated_brier", self.context)
        of_best, of_simple = (loss.score(self.y, risks) for risks in compared)
        if of_best <= of_simple:
            return []
        warning = (
            f"the search was by {history.metric.name}; the best configuration's integrated Brier score {of_best:.4f} "
            f"is above the simple model's {of_simple:.4f}: its ranking is better than its probabilities"
        )
        return [warning]

    def count_events(self) -> int:
        return int(((self.y["event"] == 1) & (self.y["time"] <= self.horizons[-1])).sum())
