"""What a model says of one patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class HorizonRisk:
    """The risk of one patient until a horizon.

    Attributes
    ----------
    horizon : float
        In the unit of the cohort's times.
    risk : float
        Probability of the event of interest until then, in [0, 1].
    stratum : str
        Name of the risk stratum at this horizon.
    causes : mapping of str to float
        Probability of each cause until then, by its value in the file; the event of interest first. They sum to at
        most 1.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None where the model has none.
    """

    horizon: float
    risk: float
    stratum: str
    causes: Mapping[str, float]
    interval: Bounds | None = None

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "horizon": self.horizon,
            "risk": self.risk,
            "interval": None if self.interval is None else list(self.interval),
            "stratum": self.stratum,
            "causes": dict(self.causes),
        }


@dataclass(frozen=True, slots=True)
class WideningValue:
    """The missing value that makes an interval wider than any other one does.

    Attributes
    ----------
    feature : str
        What is missing.
    variance_share : float
        Share of the variance of the risk's log odds that knowing it would take away, in [0, 1].
    """

    feature: str
    variance_share: float

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {"feature": self.feature, "variance_share": self.variance_share}


@dataclass(frozen=True, slots=True)
class PatientRisk:
    """What a model says of one patient.

    Attributes
    ----------
    risk : float or None
        Probability of the outcome, in [0, 1]; None where there are several horizons.
    stratum : str or None
        Name of the risk stratum; None as `risk`.
    rules : tuple of int
        Indices of the model's rules whose conditions the patient satisfies.
    warnings : tuple of str
        What is unusual about the patient's values.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None where the model has none.
    horizons : tuple of HorizonRisk
        Ascending; empty where the outcome has no time.
    widened_most_by : WideningValue or None
        At the last horizon; None where nothing is missing, or the model has no intervals.
    """

    risk: float | None
    stratum: str | None
    rules: tuple[int, ...]
    warnings: tuple[str, ...]
    interval: Bounds | None = None
    horizons: tuple[HorizonRisk, ...] = ()
    widened_most_by: WideningValue | None = None

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "risk": self.risk,
            "horizons": [horizon.to_json() for horizon in self.horizons],
            "interval": None if self.interval is None else list(self.interval),
            "widened_most_by": None if self.widened_most_by is None else self.widened_most_by.to_json(),
            "stratum": self.stratum,
            "rules": list(self.rules),
            "warnings": list(self.warnings),
        }
