"""Models of event times that tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.interpreter import RuleSet, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.space import Configuration, Step

WINDOW = 2


def cox_model(cohort: Cohort, **more: Any) -> PrognosticModel:
    """Cox's model of all rows, without a search."""
    plan = Plan("uno_c", 5, 1, 0, times=cohort.time_grid, window=WINDOW)
    rows = plan.sample(cohort)
    configuration = Configuration(Step("median"), Step("none"), Step("cox"), Step("none"))
    pipeline = fit_pipeline(configuration, rows, np.arange(rows.n_rows), plan, 0)
    F = pipeline.cumulative_incidence(rows.X, np.array(cohort.horizons))[:, 0]
    rule_sets = tuple(RuleSet(make_strata(risks), (), "no rules") for risks in F.T)
    member = Member(1.0, dump_estimator(pipeline), WINDOW if cohort.visits is not None else None)
    return PrognosticModel(rows.features, rows.outcome, (member,), rule_sets, ModelMetadata.of(rows), **more)
