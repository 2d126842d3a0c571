"""Contributions to the risk of typical patients: one with a low, one with a middling and one with a high risk.

A typical patient is nobody: each of its values is the median, or the most frequent level, of the fifth of the patients
with the lowest, middling or highest risks out of fold. A value that too few patients of the fifth have is left out.
Its contributions are those of `autoprog.model.contributions`: the risk with a finding less the risk averaged over the
finding's distribution given the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import MIN_COUNTED, Cohort, Feature
from autoprog.endpoints import Endpoint
from autoprog.explanation.refits import FoldEnsemble
from autoprog.model import remove_each
from autoprog.model.contributions import Tables
from autoprog.validation import FeatureDistribution

_Floats = NDArray[np.float64]
Group = Literal["low", "middle", "high"]

_GROUPS: tuple[tuple[Group, float], ...] = (("low", 0.0), ("middle", 0.4), ("high", 0.8))
_SHARE = 0.2
_DRAWS = 100  # of a finding that is removed
N_FINDINGS = 30
"""Inputs, the most important first, whose contributions are computed."""


@dataclass(frozen=True, slots=True)
class FindingContribution:
    """Contribution of one finding of a typical patient.

    Attributes
    ----------
    feature : str
        The input.
    value : float or str
        Its value.
    change : tuple of float
        Risk with the finding less risk without it, by horizon, in [-1, 1].
    """

    feature: str
    value: float | str
    change: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {"feature": self.feature, "value": self.value, "change": list(self.change)}


@dataclass(frozen=True, slots=True)
class TypicalPatient:
    """A patient of typical values, who is nobody in the cohort.

    Attributes
    ----------
    group : {"low", "middle", "high"}
        Fifth of the patients, by risk out of fold until the last horizon.
    n : int
        Patients in the fifth.
    risk : tuple of float
        By horizon, in [0, 1], by the ensemble that was refitted to a training fold.
    contributions : tuple of FindingContribution
        Of the most important inputs, in their order.
    """

    group: Group
    n: int
    risk: tuple[float, ...]
    contributions: tuple[FindingContribution, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "group": self.group,
            "n": self.n,
            "risk": list(self.risk),
            "contributions": [each.to_json() for each in self.contributions],
        }


@dataclass(frozen=True, slots=True)
class TypicalPatients:
    """Typical patients, and the mean risk that theirs are compared with.

    Attributes
    ----------
    mean_risk : tuple of float
        Mean risk of all patients out of fold, by horizon.
    patients : tuple of TypicalPatient
        By ascending risk out of fold; none for visits, and of too few patients.
    """

    mean_risk: tuple[float, ...]
    patients: tuple[TypicalPatient, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {"mean_risk": list(self.mean_risk), "patients": [each.to_json() for each in self.patients]}


def explain_typical_patients(
    cohort: Cohort, q: _Floats, ensemble: FoldEnsemble, endpoint: Endpoint, inputs: Sequence[int]
) -> TypicalPatients:
    """Explain the risks of typical patients by an ensemble; `q` are all patients' risks out of fold, (n, H)."""
    mean = tuple(float(risk) for risk in q.mean(axis=0))
    order = np.argsort(q[:, -1], kind="stable")
    size = round(_SHARE * len(order))
    if size < MIN_COUNTED:
        return TypicalPatients(mean, ())
    starts = [round(start * len(order)) for _, start in _GROUPS]
    typical = np.array([_typical_values(cohort, order[start : start + size]) for start in starts])
    distribution = FeatureDistribution.fit(cohort.features, cohort.X)

    def predict(tables: Tables, _: NDArray[np.bool_]) -> tuple[_Floats, None]:
        drawn = distribution.completed(tables[0], _DRAWS)
        risks = endpoint.at_horizons(ensemble.predict(lambda _: drawn.reshape(-1, drawn.shape[-1])))
        return risks.reshape(_DRAWS, len(tables[0]), -1).mean(axis=0), None

    shown = list(inputs)[:N_FINDINGS]
    features = [cohort.features[j] for j in shown]
    found = remove_each({0: typical}, [slice(j, j + 1) for j in shown], tuple(f.name for f in features), predict)
    risks, _ = predict({0: typical}, np.zeros(typical.shape, dtype=bool))
    patients = [
        TypicalPatient(
            group,
            size,
            tuple(float(risk) for risk in risks[i]),
            tuple(
                FindingContribution(feature.name, _value(feature, x), tuple(float(c) for c in change))
                for feature, x, change in zip(features, typical[i, shown], found.risks[i], strict=True)
                if not np.isnan(x)
            ),
        )
        for i, (group, _) in enumerate(_GROUPS)
    ]
    return TypicalPatients(mean, tuple(patients))


def _typical_values(cohort: Cohort, rows: NDArray[np.intp]) -> list[float]:
    patient = cohort.patient[rows]
    return [_typical_value(feature, x, patient) for feature, x in zip(cohort.features, cohort.X[rows].T, strict=True)]


def _typical_value(feature: Feature, x: _Floats, patient: NDArray[np.int64]) -> float:
    """Median or most frequent level; NaN if fewer patients have it than may be told of, copies counted once."""
    known = x[~np.isnan(x)]
    if _count(patient[~np.isnan(x)]) < MIN_COUNTED:
        return float("nan")
    if feature.kind == "numeric":
        # A value that occurs, so that numbers of something stay whole.
        return float(np.quantile(known, 0.5, method="inverted_cdf"))
    level = float(np.bincount(known.astype(np.intp)).argmax())
    return level if _count(patient[x == level]) >= MIN_COUNTED else float("nan")


def _count(patient: NDArray[np.int64]) -> int:
    return len(np.unique(patient))


def _value(feature: Feature, x: float) -> float | str:
    return float(x) if feature.kind == "numeric" else feature.levels[int(x)]
