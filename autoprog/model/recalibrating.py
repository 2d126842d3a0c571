"""A model brought to the event rate, and to the spread of risks, of other patients; its ranking stays.

    p       risks of the model as it is                                 (n,)
    a, b    logit(new risk) = a + b logit(p), fitted on the patients    scalar

References
----------
Steyerberg et al. 2004, Statistics in Medicine 23:2567 (methods 1 and 2); Janssen et al. 2008, Journal of Clinical
Epidemiology 61:76.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from autoprog.cohort import Cohort
from autoprog.errors import Fault
from autoprog.interpreter import PriorRule, explain
from autoprog.model.external_validation import aligned
from autoprog.model.model import PrognosticModel
from autoprog.validation import Recalibration, calibration_of, fit_recalibration, recalibration_covariance

RecalibrationMethod = Literal["intercept", "intercept_and_slope"]

LEAST_EVENTS = 10
"""Patients with, and without, the outcome that a recalibration takes."""


def recalibrated(model: PrognosticModel, cohort: Cohort, method: RecalibrationMethod, seed: int = 0) -> PrognosticModel:
    """The same members, recalibrated to another cohort.

    Parameters
    ----------
    model : PrognosticModel
        As it is.
    cohort : Cohort
        Patients with known outcomes and all of the model's features.
    method : {"intercept", "intercept_and_slope"}
        Whether the event rate alone is met, which few patients suffice for, or the spread of the risks too.
    seed : int
        Of the rules.

    Returns
    -------
    PrognosticModel
        Its strata keep their thresholds; its rules are mined anew among these patients, since the old ones speak of
        the old risks, but for a clinician's own, which are asked about again.

    Raises
    ------
    InvalidInputError
        If features are absent or differ in unit or categories, or if fewer than `LEAST_EVENTS` patients have, or have
        not, the outcome; names all faults.
    """
    X = aligned(model, cohort, _faults(cohort))
    p = model.risks(X)
    if method == "intercept":
        step = Recalibration(calibration_of(cohort.y, p).intercept.estimate, 1.0)
    else:
        step = fit_recalibration(cohort.y, p)
    former = model.recalibration
    both = Recalibration(step.intercept + step.slope * former.intercept, step.slope * former.slope)
    covariance = recalibration_covariance(p, step)
    intervals = tuple(each.recalibrated(former, step, covariance) for each in model.intervals)
    moved = replace(model, recalibration=both, intervals=intervals)
    others = replace(cohort, features=model.features, X=X)
    (former_rules,) = model.rule_sets
    brought = [PriorRule(rule.conditions, rule.stratum, rule.prior) for rule in former_rules.rules if rule.prior]
    rules = explain(others, moved.risks(X), former_rules.strata, seed, prior_rules=brought)
    return replace(moved, rule_sets=(rules,))


def _faults(cohort: Cohort) -> list[Fault]:
    events = int(cohort.y.sum())
    fewer = min(events, cohort.n_patients - events)
    if fewer >= LEAST_EVENTS:
        return []
    what = "have the outcome" if fewer == events else "do not have the outcome"
    return [Fault("/cohort_id", f"only {fewer} patients {what}; a recalibration takes at least {LEAST_EVENTS}")]
