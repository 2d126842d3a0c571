"""What the interpreter says: conditions, risk strata, and the rules that link them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from autoprog.cohort import Feature

Operator = Literal[">=", "<", "="]

LEVEL = 0.9  # of every interval in a rule
MAX_LENGTH = 4  # conditions of a rule
MAX_RULES = 10  # a stratum
MIN_PATIENTS = 5  # of whom anything is shown


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
        Share of the cohort's patients, or of their visits, whose out-of-fold risk lies in it, in [0, 1].
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
    """How often the matching patients, or visits, had the outcome, by the horizon where there is time.

    Attributes
    ----------
    estimate : float or None
        Observed rate, in [0, 1]; None where none of them was followed to the horizon and some were lost before.
    lower, upper : float or None
        Interval of level `LEVEL`; None with the estimate.
    n : int
        Matching patients; those of the visits where rows are visits.
    """

    estimate: float | None
    lower: float | None
    upper: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Prior:
    """What a clinician expected of a rule.

    Attributes
    ----------
    probability : float
        Of a matching patient to be in the stratum, in (0, 1).
    strength : float
        How many patients' observations it weighs, above 0.
    """

    probability: float
    strength: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A rule among patients who had no part in finding it.

    Attributes
    ----------
    n, in_stratum : int
        Matching patients, and those of them whose out-of-fold risk lies in the stratum, of visits at a matching one.
    p_value : float
        Of Fisher's one-sided test against "the rule tells nothing of the stratum", in (0, 1]; of visits, or with
        groups, by as many rows as theirs are worth.
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
        Speaks of the model's out-of-fold risks.
    observed_event_rate : EventRate
        Speaks of the patients' outcomes.
    support : float
        Share of all patients, or visits, that satisfy the conditions, in (0, 1).
    confidence : float
        Share of the matching patients, or visits, whose out-of-fold risk lies in the stratum, in [0, 1].
    lift : float
        Confidence over the share of all patients in the stratum; above 1 but for a clinician's rule.
    horizon : float or None
        Time that the risks speak of; None where the outcome has no time.
    held_out : HeldOut or None
        The check on other patients; None where fewer than `MIN_PATIENTS` of them match, and in rules that were mined
        before there was a check.
    prior : Prior or None
        What a clinician expected; None for a rule that was mined.
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
        """As the API shows it."""
        document = asdict(self)
        document["conditions"] = list(document["conditions"])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; reads rules that were written before there was a check, too."""
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
    """How well the rules alone tell the model's strata, among patients who had no part in finding them.

    Attributes
    ----------
    kappa : float
        Cohen's kappa of the strata by rules and by the model, at most 1; 0 is chance.
    lower, upper : float
        Its interval of level `LEVEL`.
    agreement : float
        Share of patients, or of their visits, whom rules and model place alike, in [0, 1].
    n : int
        Patients held out.
    default : str
        Name of the stratum of those whom no rule matches.
    """

    kappa: float
    lower: float
    upper: float
    agreement: float
    n: int
    default: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The strata of a model and the rules that describe who is in them.

    Attributes
    ----------
    strata : tuple of Stratum
        From the highest risk to the lowest.
    rules : tuple of Rule
        Stratum by stratum, a clinician's first, then the best supported first.
    note : str
        How to read the figures, and what they do not say.
    fidelity : Fidelity or None
        Of the rules as a whole; None where there is one stratum, or the rules were mined before it was measured.
    """

    strata: tuple[Stratum, ...]
    rules: tuple[Rule, ...]
    note: str
    fidelity: Fidelity | None = None

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "strata": [asdict(stratum) for stratum in self.strata],
            "rules": [rule.to_json() for rule in self.rules],
            "note": self.note,
            "fidelity": self.fidelity and asdict(self.fidelity),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; reads rules that were written before fidelity was measured, too."""
        fidelity = document.get("fidelity")
        return cls(
            strata=tuple(Stratum(**stratum) for stratum in document["strata"]),
            rules=tuple(Rule.from_json(rule) for rule in document["rules"]),
            note=document["note"],
            fidelity=fidelity and Fidelity(**fidelity),
        )
