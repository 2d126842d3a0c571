"""Predictions for patients described by name: risks, intervals, strata, rules and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import encode_patients, encode_visits
from autoprog.interpreter import matching, stratum_indices
from autoprog.model.contributions import Contribution, find_columns, list_contributions
from autoprog.model.prediction import EnsemblePrediction, Table, build_prediction

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class HorizonRisk:
    """Risk of one patient until a horizon.

    Attributes
    ----------
    horizon : float
        In the unit of the cohort's times.
    risk : float
        Probability of the event of interest until then, in [0, 1].
    stratum : str
        Name of the risk stratum at this horizon.
    causes : mapping of str to float
        Probability of each cause until then, by its value in the file, the event of interest first; sums to at most 1.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None if the model has none.
    """

    horizon: float
    risk: float
    stratum: str
    causes: Mapping[str, float]
    interval: Bounds | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """The horizon, as a cell of a table."""
        return (f"{self.horizon:g}",)

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "horizon": self.horizon,
            "risk": self.risk,
            "interval": None if self.interval is None else list(self.interval),
            "stratum": self.stratum,
            "causes": dict(self.causes),
        }


@dataclass(frozen=True, slots=True)
class WideningValue:
    """The missing value that widens an interval most."""

    feature: str  # name of the missing feature
    variance_share: float  # share of the log odds' variance that knowing it would remove, in [0, 1]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {"feature": self.feature, "variance_share": self.variance_share}


@dataclass(frozen=True, slots=True)
class PatientRisk:
    """Prediction for one patient.

    Attributes
    ----------
    risk, stratum : float or None, str or None
        Probability of the outcome, in [0, 1], and name of its risk stratum; None if there are several horizons.
    rules : tuple of int
        Indices of the model's rules that apply to the patient.
    warnings : tuple of str
        Unusual values of the patient.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None if the model has none.
    horizons : tuple of HorizonRisk
        Ascending; empty if the outcome has no time.
    widened_most_by : WideningValue or None
        At the last horizon; None if nothing is missing, or the model has no intervals.
    contributions : tuple of Contribution or None
        Of the known findings, the largest first; None if not asked for.
    """

    risk: float | None
    stratum: str | None
    rules: tuple[int, ...]
    warnings: tuple[str, ...]
    interval: Bounds | None = None
    horizons: tuple[HorizonRisk, ...] = ()
    widened_most_by: WideningValue | None = None
    contributions: tuple[Contribution, ...] | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """No cell: the risk is of no horizon, or of the only one."""
        return ()

    @property
    def parts(self) -> Sequence[HorizonRisk | PatientRisk]:
        """Risks by horizon; for an outcome without a time this one."""
        return list(self.horizons) or [self]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "risk": self.risk,
            "horizons": [horizon.to_json() for horizon in self.horizons],
            "interval": None if self.interval is None else list(self.interval),
            "widened_most_by": None if self.widened_most_by is None else self.widened_most_by.to_json(),
            "stratum": self.stratum,
            "rules": list(self.rules),
            "warnings": list(self.warnings),
            "contributions": None if self.contributions is None else [each.to_json() for each in self.contributions],
        }


def predictions(
    model: PrognosticModel, patients: Sequence[Mapping[str, object]], *, explain: bool = False
) -> list[PatientRisk]:
    """Predict for patients, see `PrognosticModel.predict`; raises InvalidInputError with all faults of all of them."""
    X, warnings = _encoded(model, patients)
    risks = _predict_encoded(model, X, warnings)
    if not explain:
        return risks
    found = list_contributions(model.contributions(X), model.outcome.target.causes, model.horizons)
    return [replace(risk, contributions=each) for risk, each in zip(risks, found, strict=True)]


def _predict_encoded(model: PrognosticModel, X: Table, warnings: Sequence[tuple[str, ...]]) -> list[PatientRisk]:
    answer = build_prediction(model, X, bounds=True)
    rules, widest = _matching(model, answer.X), _widening(model, answer)
    risks = model.outcome.target.as_curves(answer.risks)
    strata = [_strata(model, k, risks[:, k]) for k in range(len(model.rule_sets))]
    return [
        _assemble(_at_places(model, i, answer, risks, strata), model.horizons, rules[i], warnings[i], widest[i])
        for i in range(len(rules))
    ]


def _encoded(
    model: PrognosticModel, patients: Sequence[Mapping[str, object]]
) -> tuple[Table, tuple[tuple[str, ...], ...]]:
    if model.windows is None:
        encoded = encode_patients(model.features, patients)
        return encoded.X, encoded.warnings
    tables = {w: encode_visits(model.windows, model.outcome.visit_time, patients, w) for w in model.window_lengths}
    read = max(member.window or 1 for member in model.members)  # what no member reads is not warned of
    return {w: table.X for w, table in tables.items()}, tables[read].warnings


def _matching(model: PrognosticModel, X: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Indices of the rules that each patient satisfies, horizon by horizon."""
    rules = [rule for rule_set in model.rule_sets for rule in rule_set.rules]
    matches = [matching(rule, model.features, X) for rule in rules]
    return [tuple(k for k, matched in enumerate(matches) if matched[i]) for i in range(len(X))]


def _widening(model: PrognosticModel, answer: EnsemblePrediction) -> list[WideningValue | None]:
    """Missing value of each patient that widens the interval most; for visits, the feature behind it."""
    if answer.widening is None:
        return [None] * len(answer.X)
    names = [feature.name for feature in model.features]
    for source, columns in zip(model.inputs, find_columns(model.features, model.windows), strict=True):
        names[columns] = [source.name] * len(names[columns])
    places = answer.widening.argmax(axis=1)
    shares = answer.widening[np.arange(len(places)), places]
    return [
        WideningValue(names[place], float(share)) if share > 0 else None
        for place, share in zip(places, shares, strict=True)
    ]


class _AtPlace(NamedTuple):
    """Risk at a horizon, or of an outcome without a time."""

    risk: float
    stratum: str
    causes: dict[str, float]
    interval: Bounds | None


def _strata(model: PrognosticModel, k: int, risks: NDArray[np.float64]) -> list[str]:
    strata = model.rule_sets[k].strata
    return [strata[place].name for place in stratum_indices(strata, risks)]


def _at_places(
    model: PrognosticModel,
    i: int,
    answer: EnsemblePrediction,
    risks: NDArray[np.float64],
    strata: Sequence[Sequence[str]],
) -> list[_AtPlace]:
    names, F = model.outcome.target.causes, answer.causes
    bounds = None if answer.bounds is None else answer.bounds[i].reshape(-1, 2)
    return [
        _AtPlace(
            risk,
            strata[k][i],
            {} if F is None else dict(zip(names, F[i, :, k].tolist(), strict=True)),
            None if bounds is None else _ends(bounds[k]),
        )
        for k, risk in enumerate(risks[i].tolist())
    ]


def _assemble(
    places: Sequence[_AtPlace],
    horizons: Sequence[float],
    rules: tuple[int, ...],
    warnings: tuple[str, ...],
    widest: WideningValue | None,
) -> PatientRisk:
    """Assemble a patient's risks; the risk of a single horizon is also the overall risk."""
    of_horizons = tuple(HorizonRisk(horizon, *each) for horizon, each in zip(horizons, places, strict=False))
    if len(places) > 1:
        return PatientRisk(None, None, rules, warnings, horizons=of_horizons, widened_most_by=widest)
    (only,) = places
    return PatientRisk(only.risk, only.stratum, rules, warnings, only.interval, of_horizons, widest)


def _ends(interval: NDArray[np.float64]) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])
