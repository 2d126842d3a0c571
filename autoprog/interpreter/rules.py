"""What the interpreter says: conditions, risk strata, and the rules that link them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from autoprog.cohort import Feature

Operator = Literal[">=", "<", "="]

LEVEL = 0.9  # of every interval in a rule


@dataclass(frozen=True, slots=True)
class Condition:
    """A statement about one feature of a patient; a missing cell never satisfies it.

    Attributes
    ----------
    feature : str
        The feature's name.
    operator : {">=", "<", "="}
        "=" for binary and categorical features, the others for numeric and ordinal ones.
    value : float or str
        A number, in the feature's unit, for a numeric feature; else the canonical text of a level.
    """

    feature: str
    operator: Operator
    value: float | str

    def in_words(self, unit: str | None = None) -> str:
        """The condition as a person writes it: `age >= 58 years`."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.12g}"
        return f"{self.feature} {self.operator} {value}" + (f" {unit}" if unit else "")


@dataclass(frozen=True, slots=True)
class Stratum:
    """A band of predicted risk.

    Attributes
    ----------
    name : str
        "high", "medium" or "low"; "all" where the risks cannot be told apart.
    lower, upper : float
        A risk r belongs to it when lower <= r < upper, or r <= upper where upper is 1.
    fraction : float
        Share of the cohort's patients whose out-of-fold risk lies in it, in [0, 1].
    """

    name: str
    lower: float
    upper: float
    fraction: float


@dataclass(frozen=True, slots=True)
class StratumProbability:
    """Posterior of the probability that the model places a matching patient in the stratum.

    Attributes
    ----------
    mean : float
        Posterior mean, in (0, 1).
    lower, upper : float
        Equal-tailed credible interval of level `LEVEL`.
    """

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class EventRate:
    """Share of the matching patients who had the outcome.

    Attributes
    ----------
    estimate : float
        Observed share, in [0, 1].
    lower, upper : float
        Wilson score interval of level `LEVEL`.
    n : int
        Matching patients.
    """

    estimate: float
    lower: float
    upper: float
    n: int


@dataclass(frozen=True, slots=True)
class Rule:
    """An association: patients who satisfy all conditions tend to be placed in the stratum.

    Attributes
    ----------
    conditions : tuple of Condition
        One to three; all must hold.
    stratum : str
        Name of the stratum.
    stratum_probability : StratumProbability
        Speaks of the model's out-of-fold risks.
    observed_event_rate : EventRate
        Speaks of the patients' outcomes.
    support : float
        Share of all patients who satisfy the conditions, in (0, 1).
    confidence : float
        Share of the matching patients whose out-of-fold risk lies in the stratum, in (0, 1].
    lift : float
        Confidence over the share of all patients in the stratum; above 1.
    """

    conditions: tuple[Condition, ...]
    stratum: str
    stratum_probability: StratumProbability
    observed_event_rate: EventRate
    support: float
    confidence: float
    lift: float

    def in_words(self, features: Sequence[Feature]) -> str:
        """The rule as a sentence.

        Parameters
        ----------
        features : sequence of Feature
            The cohort's columns; they give the units.

        Returns
        -------
        str
            `age >= 58 years and cp = 4 -> high risk (probability 0.87, 90 % interval 0.80 to 0.93)`.
        """
        units = {feature.name: feature.unit for feature in features}
        conditions = " and ".join(c.in_words(units.get(c.feature)) for c in self.conditions)
        p = self.stratum_probability
        return (
            f"{conditions} -> {self.stratum} risk "
            f"(probability {p.mean:.2f}, {100 * LEVEL:.0f} % interval {p.lower:.2f} to {p.upper:.2f})"
        )

    def to_json(self) -> dict[str, Any]:
        """As the API shows it; a rule on a binary outcome has no horizon."""
        document = asdict(self)
        document.pop("conditions")
        return {"conditions": [asdict(c) for c in self.conditions], "horizon": None, **document}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(
            conditions=tuple(Condition(**c) for c in document["conditions"]),
            stratum=document["stratum"],
            stratum_probability=StratumProbability(**document["stratum_probability"]),
            observed_event_rate=EventRate(**document["observed_event_rate"]),
            support=document["support"],
            confidence=document["confidence"],
            lift=document["lift"],
        )


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The strata of a model and the rules that describe who is in them.

    Attributes
    ----------
    strata : tuple of Stratum
        From the highest risk to the lowest.
    rules : tuple of Rule
        Stratum by stratum, the best supported first.
    note : str
        How to read the figures, and what they do not say.
    """

    strata: tuple[Stratum, ...]
    rules: tuple[Rule, ...]
    note: str

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "strata": [asdict(stratum) for stratum in self.strata],
            "rules": [rule.to_json() for rule in self.rules],
            "note": self.note,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(
            strata=tuple(Stratum(**stratum) for stratum in document["strata"]),
            rules=tuple(Rule.from_json(rule) for rule in document["rules"]),
            note=document["note"],
        )
