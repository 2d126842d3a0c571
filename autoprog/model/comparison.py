"""Two models on the same patients: the measures of each, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autoprog.cohort import Cohort, units_differ
from autoprog.endpoints import list_parts, make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.model.external_validation import (
    ExternalCohort,
    check_outcome,
    other_patients,
    outcome_faults,
)
from autoprog.model.model import PrognosticModel
from autoprog.model.training_overlap import compare_with_training
from autoprog.performance import THRESHOLDS

_MEASURES = ("auc_roc", "auc", "brier", "brier_skill", "expected_observed", "slope")


def compare_models(
    model: PrognosticModel,
    other: PrognosticModel,
    cohort: Cohort,
    thresholds: tuple[float, float] = THRESHOLDS,
    training: tuple[Sequence[Cohort], Sequence[Cohort]] = ((), ()),
    seed: int = 0,
) -> dict[str, Any]:
    """Compare the risks by two models of the same patients.

    Parameters
    ----------
    model, other : PrognosticModel
        Models of the same outcome, of different features perhaps.
    cohort : Cohort
        Patients with known outcomes and all features of both models.
    thresholds : tuple of float
        Range of the net benefit.
    training : pair of sequence of Cohort
        Cohorts that each model was fitted on, to warn if the patients are the same.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    dict
        JSON document: `n_patients`, `n_rows`, `n_events`, `warnings`, and `horizons`, each with `horizon` (None without
        a time), the measures of `model` and `other`, and `difference`, the model's less the other's with intervals.

    Raises
    ------
    InvalidInputError
        With all faults of both models: another kind of outcome or unit of times, absent features, no horizon that both
        have, or too few patients with or without the outcome.
    """
    check_outcome([model, other], cohort, "a comparison")
    horizons = tuple(h for h in model.horizons if h in other.horizons)
    faults = outcome_faults(horizons, cohort)
    mine, theirs = model.outcome.time_unit, other.outcome.time_unit
    if units_differ(mine, theirs):
        faults.append(Fault("/other_model_id", f"the other model's times are in {theirs}, and this model's in {mine}"))
    elif set(model.outcome.target.places).isdisjoint(other.outcome.target.places):
        theirs = ", ".join(f"{h:g}" for h in other.horizons)
        faults.append(Fault("/other_model_id", f"the models share no horizon: the other model has {theirs}"))
    patients = _aligned((model, other), cohort, faults)
    taken = replace(cohort, outcome=cohort.outcome.until(horizons))
    endpoint = make_endpoint(taken, taken.time_grid, thresholds)
    P, Q = (each.risks(of, endpoint.times) for of, each in zip((model, other), patients, strict=True))
    measured = [_by_horizon(endpoint.validation(risks, None, seed)) for risks in (P, Q)]
    gains = endpoint.gains(endpoint.at_horizons(P), endpoint.at_horizons(Q))
    warnings = [
        f"{name}: {text}"
        for name, each, theirs in zip(("this model", "the other model"), (model, other), training, strict=True)
        for text in compare_with_training(each.metadata, cohort, theirs).warnings
    ]
    return {
        "n_patients": cohort.n_patients,
        "n_rows": cohort.n_rows,
        "n_events": endpoint.count_events(),
        "warnings": warnings,
        "horizons": [
            {
                "horizon": horizon,
                "model": mine,
                "other": its,
                "difference": {name: gain.to_json() for name, gain in gain_of.items()},
            }
            for horizon, mine, its, gain_of in zip(endpoint.horizons, *measured, gains, strict=True)
        ],
    }


def _aligned(models: Sequence[PrognosticModel], cohort: Cohort, faults: Sequence[Fault]) -> list[ExternalCohort]:
    """Align a cohort with each model; InvalidInputError has the faults of all of them, and the given ones."""
    patients: list[ExternalCohort] = []
    found: list[Fault] = []
    for model in models:
        try:
            patients.append(other_patients(model, cohort, ()))
        except InvalidInputError as error:
            found += error.faults
    if found or faults:
        raise InvalidInputError(list(dict.fromkeys([*found, *faults])))
    return patients


def _by_horizon(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = [part["performance"] for _, part in list_parts(document)]
    return [{name: _measure(part, name) for name in _MEASURES if name in part} for part in parts]


def _measure(performance: Mapping[str, Any], name: str) -> dict[str, float | None]:
    value = performance[name]
    found = value if isinstance(value, Mapping) else {"estimate": value, **(performance["intervals"].get(name) or {})}
    return {key: _finite(found.get(key)) for key in ("estimate", "lower", "upper")}


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
