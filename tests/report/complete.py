"""Runs with everything that is drawn, which the stored documents leave out: measured anew from a simple pipeline."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from autoprog.cohort import Cohort, CohortDescription, describe_by_outcome
from autoprog.csmd.problem import SIMPLE
from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.endpoints.endpoint import Assessed
from autoprog.evaluation import Plan, cross_validate
from autoprog.interpreter import make_strata, stratum_indices
from autoprog.performance import THRESHOLDS
from autoprog.report.run import Document, ReportedRun
from autoprog.space import Configuration, Step
from autoprog.validation.instability import Instability
from tests.cohorts import cleveland_cohort, event_cohort
from tests.report.runs import changed, stored_run
from tests.report.test_explanation_section import explanation

_COX = Configuration(Step.of("median"), Step.of("none"), Step.of("cox"), Step.of("none"))
_COHORTS = {
    "binary": (cleveland_cohort, "auc_roc", SIMPLE),
    "event_times": (lambda: event_cohort("whas500"), "uno_c", _COX),
    "competing": (lambda: event_cohort("bmt137"), "uno_c", _COX),
}


@cache
def complete_run(kind: str) -> tuple[ReportedRun, CohortDescription]:
    """The stored run of a kind with curves, strata, instability and an explanation, and its patients by outcome."""
    load, metric, configuration = _COHORTS[kind]
    cohort = load()
    plan = Plan(metric, 3, 1, 0, times=cohort.time_grid)
    endpoint = make_endpoint(cohort, plan.times, THRESHOLDS)
    P = np.asarray(cross_validate(configuration, cohort, plan).risks, dtype=np.float64)
    risks = Assessed(P, P)
    drawn = {
        **endpoint.summary(risks),
        **endpoint.details(risks, risks, _causes(cohort, endpoint, P), 0),
        "strata": _strata(endpoint, P),
    }
    endpoint.place_instability(drawn, [_instability()] * len(endpoint.horizons))
    run = stored_run(kind)
    drawn["calibration"]["recalibration"] = run.ensemble["calibration"]["recalibration"]
    run = changed(run, "ensemble", **drawn)
    return replace(run, explanation=explanation(run)), describe_by_outcome(cohort)


def _causes(cohort: Cohort, endpoint: Endpoint, P: np.ndarray) -> np.ndarray | None:
    """Risks of every cause, where one competes: the other cause has half of what is left."""
    q = endpoint.at_horizons(P)
    return np.stack([q, 0.5 * (1 - q)], axis=1) if len(cohort.target.causes) > 1 else None


def _strata(endpoint: Endpoint, P: np.ndarray) -> list[Document]:
    found = []
    for k, horizon in enumerate(endpoint.horizons):
        p = endpoint.at_horizons(P)[:, k]
        bands = make_strata(p)
        observed = endpoint.observe_strata(k, stratum_indices(bands, p), len(bands))
        found += [
            {"horizon": horizon, "name": band.name, "lower": band.lower, "upper": band.upper, "risk": 0.3, **seen}
            for band, seen in zip(bands, observed, strict=True)
        ]
    return found


def _instability() -> Document:
    at = (0.1, 0.3, 0.6)
    return Instability(20, 0.03, 0.07, ((0.1, 0.12), (0.4, 0.37)), at, (at, (0.12, 0.28, 0.57))).to_json()
