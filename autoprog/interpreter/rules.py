"""The interpreter's results: conditions, risk strata, and the rules that link them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from autoprog.cohort import Feature

Operator = Literal[">=", "<", "="]

LEVEL = 0.9  # of all intervals
MAX_LENGTH = 4  # conditions of a rule
MAX_RULES = 10  # rules of a stratum
MIN_PATIENTS = 5  # patients behind every figure shown


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
        A number in the feature's unit, if it is numeric; else the canonical text of a level.
    """

    feature: str
    operator: Operator
    value: float | str

    def in_words(self, unit: str | None = None) -> str:
        """Write the condition as text: `age >= 58 years`."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.12g}"
        return f"{self.feature} {self.operator} {value}" + (f" {unit}" if unit else "")


@dataclass(frozen=True, slots=True)
class Stratum:
    """A band of predicted risk.

    Attributes
    ----------
    name : str
        "high", "medium" or "low"; "all" if all risks are equal.
    lower, upper : float
        Bounds: lower <= risk < upper, or risk <= upper if upper is 1.
    fraction : float
        Share of patients, or visits, whose out-of-fold risk lies in it, in [0, 1].
    """

    name: str
    lower: float
    upper: float
    fraction: float


@dataclass(frozen=True, slots=True)
class StratumProbability:
    """Posterior mean and 90 % credible interval of the probability that a matching patient is in the stratum."""

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class EventRate:
    """Observed event rate of the matching patients or visits, by the horizon if there is time.

    Attributes
    ----------
    estimate : float or None
        Rate in [0, 1]; None if follow-up of all ended before the horizon and some were lost.
    lower, upper : float or None
        90 % interval; None with the estimate.
    n : int
        Matching patients; if rows are visits, those with a matching visit.
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Prior:
    """A clinician's expectation: the probability of the stratum, in (0, 1), and its strength in patients, above 0."""

    probability: float
    strength: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Test of a rule on held-out patients.

    Attributes
    ----------
    n, in_stratum : int
        Matching patients, and those of them in the stratum; if rows are visits, with a matching visit in it.
    p_value : float
        Fisher's one-sided test of no association with the stratum, in (0, 1]; clustered rows count by their effective
        number.
    adjusted_p_value : float
        Smallest false-discovery rate at which the rule is kept, in [0, 1].
    """

    n: int
    in_stratum: int
    p_value: float
    adjusted_p_value: float


@dataclass(frozen=True, slots=True)
class Rule:
    """An association: patients who satisfy all conditions tend to be placed in the stratum.

    Attributes
    ----------
    conditions : tuple of Condition
        One to `MAX_LENGTH`; all must hold.
    stratum : str
        Name of the stratum.
    stratum_probability : StratumProbability
        Posterior from the model's out-of-fold risks.
    observed_event_rate : EventRate
        Rate of the patients' outcomes.
    support : float
        Share of all patients, or visits, that satisfy the conditions, in (0, 1).
    confidence : float
        Share of the matching patients, or visits, in the stratum, in [0, 1].
    lift : float
        Confidence over the share of all patients in the stratum; above 1 except for a clinician's rule.
    horizon : float or None
        Time of the risks; None if the outcome has no time.
    held_out : HeldOut or None
        Test on held-out patients; None if fewer than `MIN_PATIENTS` match, or in documents older than the test.
    prior : Prior or None
        The clinician's expectation; None for a mined rule.
    """

    conditions: tuple[Condition, ...]
    stratum: str
    stratum_probability: StratumProbability
    observed_event_rate: EventRate
    support: float
    confidence: float
    lift: float
    horizon: float | None = None
    held_out: HeldOut | None = None
    prior: Prior | None = None

    def in_words(self, features: Sequence[Feature]) -> str:
        """Write the rule as a sentence with units, stratum and probability."""
        units = {feature.name: feature.unit for feature in features}
        conditions = " and ".join(c.in_words(units.get(c.feature)) for c in self.conditions)
        p = self.stratum_probability
        return (
            f"{conditions} -> {self.stratum} risk "
            f"(probability {p.mean:.2f}, {100 * LEVEL:.0f} % interval {p.lower:.2f} to {p.upper:.2f})"
        )

    def to_json(self) -> dict[str, Any]:
        """Convert to the API's document."""
        document = asdict(self)
        document["conditions"] = list(document["conditions"])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the document of `to_json`, or an older one without `held_out` or `prior`."""
        held_out, prior = document.get("held_out"), document.get("prior")
        return cls(
            conditions=tuple(Condition(**c) for c in document["conditions"]),
            stratum=document["stratum"],
            stratum_probability=StratumProbability(**document["stratum_probability"]),
            observed_event_rate=EventRate(**document["observed_event_rate"]),
            support=document["support"],
            confidence=document["confidence"],
            lift=document["lift"],
            horizon=document["horizon"],
            held_out=held_out and HeldOut(**held_out),
            prior=prior and Prior(**prior),
        )


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Agreement of the rules alone with the model's strata, on held-out patients.

    Attributes
    ----------
    kappa : float
        Cohen's kappa of the strata by rules and by the model, at most 1; 0 is chance.
    lower, upper : float
        90 % interval of kappa.
    agreement : float
        Share of patients, or visits, that rules and model place alike, in [0, 1].
    n : int
        Held-out patients.
    default : str
        Name of the stratum of patients whom no rule matches.
    """

    kappa: float
    lower: float
    upper: float
    agreement: float
    n: int
    default: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The strata of a model, and the rules that describe them.

    Attributes
    ----------
    strata : tuple of Stratum
        From the highest risk to the lowest.
    rules : tuple of Rule
        By stratum, a clinician's first, then the best supported first.
    note : str
        How to read the figures, and their limits.
    fidelity : Fidelity or None
        Agreement of all rules with the model; None if there is one stratum, or in older documents.
    """

    strata: tuple[Stratum, ...]
    rules: tuple[Rule, ...]
    note: str
    fidelity: Fidelity | None = None

    def to_json(self) -> dict[str, Any]:
        """Convert to the API's document."""
        return {
            "strata": [asdict(stratum) for stratum in self.strata],
            "rules": [rule.to_json() for rule in self.rules],
            "note": self.note,
            "fidelity": self.fidelity and asdict(self.fidelity),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the document of `to_json`, or an older one without `fidelity`."""
        fidelity = document.get("fidelity")
        return cls(
            strata=tuple(Stratum(**stratum) for stratum in document["strata"]),
            rules=tuple(Rule.from_json(rule) for rule in document["rules"]),
            note=document["note"],
            fidelity=fidelity and Fidelity(**fidelity),
        )
