"""Updating a model: recalibration to other patients, which keeps its ranking.

    p       risks of the model as it is; with event times those until the times of a grid        (n,) or (n, T)
    a, b    logit(new risk) = a + b logit(p), fitted on the patients                             scalar

With event times a and b are the same for all times, and censoring is weighted for.

References
----------
Steyerberg et al. 2004, Statistics in Medicine 23:2567 (methods 1 and 2); Janssen et al. 2008, Journal of Clinical
Epidemiology 61:76.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.interpreter import ObservedOutcome, PriorRule, RuleSet, explain
from autoprog.model.external_validation import ExternalCohort, check_outcome, other_patients
from autoprog.model.model import PrognosticModel
from autoprog.performance import compute_logit
from autoprog.validation import IDENTITY, Recalibration, recalibration_covariance

RecalibrationMethod = Literal["intercept", "intercept_and_slope"]

_SOURCE = "the risks that it gives them, fitted to others and recalibrated to them"

_NO_SLOPE = (
    "no slope above 0 can be estimated: in these patients the risks either separate those with the outcome from the "
    "others, or are not higher in them; the method `intercept` fits the event rate alone"
)

MIN_EVENTS = 10
"""Fewest patients with, and without, the outcome for a recalibration."""


def update_model(model: PrognosticModel, cohort: Cohort, method: RecalibrationMethod, seed: int = 0) -> PrognosticModel:
    """Recalibrate a model to another cohort; members and thresholds of the strata are kept.

    Parameters
    ----------
    model, cohort
        The model, and patients with known outcomes and all of its features.
    method : {"intercept", "intercept_and_slope"}
        Whether to fit the event rate alone, for which few patients suffice, or also the spread of the risks.
    seed : int
        Seed of the rules.

    Returns
    -------
    PrognosticModel
        With rules mined in these patients; a clinician's own rules are kept and tested again.

    Raises
    ------
    InvalidInputError
        With all faults: another kind of outcome or unit of times, features absent or different in unit or categories,
        or fewer than `MIN_EVENTS` patients with, or without, the outcome (with event times, until the last horizon);
        a slope that cannot be estimated.
    """
    check_outcome([model], cohort, "a recalibration")
    faults = make_endpoint(cohort).update_faults(model.horizons, MIN_EVENTS)
    others = other_patients(model, cohort, [Fault("/cohort_id", detail) for detail in faults])
    p, endpoint, slope = model.risks(others.table), others.endpoint(), method == "intercept_and_slope"
    risks = others.risks(model, endpoint.times)
    step = endpoint.fit_update(risks, slope=slope)
    if slope and step.slope == 1 and not (step == IDENTITY and _are_ranked(risks, endpoint)):
        raise InvalidInputError([Fault("/method", _NO_SLOPE)])
    former = model.recalibration
    both = former.then(step)
    columns = p.reshape(len(p), -1).T
    intervals = tuple(
        each.recalibrated(former, step, _covariance(column, step, endpoint, k))
        for k, (each, column) in enumerate(zip(model.intervals, columns[: len(model.intervals)], strict=True))
    )
    competing = _competing(model, others, endpoint, slope=slope)
    moved = replace(model, recalibration=both, intervals=intervals, competing=competing)
    delivered = moved.risks(others.table).reshape(len(p), -1).T
    described = replace(others.cohort, features=model.features, X=others.windowed)
    rule_sets = tuple(
        _rules(rules, described, q, endpoint.horizons[k], endpoint.observed(k), seed)
        for k, (rules, q) in enumerate(zip(model.rule_sets, delivered, strict=True))
    )
    return replace(moved, rule_sets=rule_sets)


def _are_ranked(risks: NDArray[np.float64], endpoint: Endpoint) -> bool:
    """Whether the risks until the last horizon are higher in patients with the outcome."""
    p = endpoint.at_horizons(risks)[:, -1] if risks.ndim == 1 else risks[:, -1]
    y, weights = endpoint.known_outcomes(len(endpoint.horizons) - 1)
    with_it, without = weights * (y == 1), weights * (y != 1)
    x = compute_logit(p)
    return bool(np.average(x, weights=with_it) > np.average(x, weights=without))


def _covariance(p: NDArray[np.float64], step: Recalibration, endpoint: Endpoint, horizon: int) -> NDArray[np.float64]:
    """Covariance of the step as fitted to the risks until one horizon, by groups of patients."""
    y, weights = endpoint.known_outcomes(horizon)
    return recalibration_covariance(p, step, residuals=weights * (y - step.apply(p)), groups=endpoint.cohort.groups)


def _competing(
    model: PrognosticModel, others: ExternalCohort, endpoint: Endpoint, *, slope: bool
) -> tuple[Recalibration, ...]:
    """Compose the maps of the competing causes with their recalibration to the other patients."""
    causes = others.causes(model)
    if causes is None:
        return ()
    steps = endpoint.fit_competing(causes.F, causes.y, slope=slope, shrunk=False)
    formers = model.competing or (IDENTITY,) * len(steps)
    return tuple(former.then(step) for former, step in zip(formers, steps, strict=True))


def _rules(
    former: RuleSet,
    cohort: Cohort,
    risks: NDArray[np.float64],
    horizon: float | None,
    observed: ObservedOutcome,
    seed: int,
) -> RuleSet:
    brought = [PriorRule(rule.conditions, rule.stratum, rule.prior) for rule in former.rules if rule.prior]
    return explain(
        cohort, risks, former.strata, seed, prior_rules=brought, observed=observed, horizon=horizon, source=_SOURCE
    )
