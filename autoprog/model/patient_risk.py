"""Prediction for one patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """

    risk: float | None
    stratum: str | None
    rules: tuple[int, ...]
    warnings: tuple[str, ...]
    interval: Bounds | None = None
    horizons: tuple[HorizonRisk, ...] = ()
    widened_most_by: WideningValue | None = None

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
        }
