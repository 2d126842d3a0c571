"""The risk calculator: a form of a model's findings, and what the model says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.catalogues.schemas import PricesRequest
from api.cohorts.schemas import FeatureDocument
from api.models.schemas import NextTestsDocument, NextTestsRequest, PatientPrediction
from api.pages.forms import SentForm
from api.pages.numbers import GroupedNumberError, TypedNumbers
from api.pages.searches.results import Verdict
from autoprog.errors import Fault, InvalidInputError

_FINDINGS = "findings"  # the choice of each finding for itself
_MAX_ID = 64
_MOST_CONTRIBUTIONS = 8
_BAR = 150.0  # half the width of the drawing of contributions


@dataclass(frozen=True, slots=True)
class Answer:
    """Prediction for one horizon; a binary outcome has one answer without a time."""

    time: float | None
    risk: float
    interval: tuple[float, float] | None
    stratum: str | None
    causes: Mapping[str, float]

    @property
    def of_hundred(self) -> int:
        """Patients of a hundred alike who have the outcome."""
        return round(100 * self.risk)


@dataclass(frozen=True, slots=True)
class Bar:
    """The contribution of a finding as a bar from the middle of a drawing."""

    feature: str
    value: str
    change: float
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tests are ranked, at which prices, as text: none, each finding for itself, or those of a catalogue."""

    tests: str = ""
    minute: str = ""
    harm: str = ""

    def to_request(self, patient: Mapping[str, object], numbers: TypedNumbers) -> NextTestsRequest:
        """Build the request; the service reports what is no number. Raises InvalidInputError for grouped numbers."""
        faults: list[Fault] = []
        if self.tests == _FINDINGS:
            return NextTestsRequest(patient=patient)
        prices = PricesRequest(
            minute=numbers.read(self.minute or "0", "/prices/minute", faults),
            harm=numbers.read(self.harm or "0", "/prices/harm", faults),
        )
        if faults:
            raise InvalidInputError(faults)
        return NextTestsRequest(patient=patient, catalogue_id=self.tests[:_MAX_ID], prices=prices)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ranked tests of the patient, or why there are none."""

    found: NextTestsDocument | None
    faults: Sequence[str] = ()


def read_choice(form: SentForm) -> Choice:
    """Return what the form says of tests."""
    return Choice(form.get("tests"), form.get("minute"), form.get("harm"))


def read_values(
    features: Sequence[FeatureDocument], sent: Mapping[str, str], numbers: TypedNumbers, _: Callable[[str], str]
) -> tuple[dict[str, object], dict[str, str], list[Fault]]:
    """Return the patient as the model takes it, the texts of the form by feature, and faults by feature."""
    patient: dict[str, object] = {}
    texts: dict[str, str] = {}
    faults: list[Fault] = []
    for i, feature in enumerate(features):
        text = sent.get(f"x-{i}", "").strip()
        texts[feature.name] = text
        if not text or feature.kind != "numeric":
            patient[feature.name] = text or None
            continue
        patient[feature.name] = None
        try:
            patient[feature.name] = numbers.parse(text)
        except GroupedNumberError as error:
            faults.append(Fault(feature.name, str(error)))
        except ValueError:
            faults.append(Fault(feature.name, _("give a number, or leave it empty if it is unknown")))
    return patient, texts, faults


def list_answers(prediction: PatientPrediction, verdict: Verdict) -> list[Answer]:
    """Return the answers of a prediction, by ascending time, without strata that mean nothing."""

    def stratum(time: float | None, name: str | None) -> str | None:
        return None if verdict.withholds(time) else name

    answers = [
        Answer(each.horizon, each.risk, each.interval, stratum(each.horizon, each.stratum), each.causes)
        for each in prediction.horizons
    ]
    if answers or prediction.risk is None:
        return answers
    return [Answer(None, prediction.risk, prediction.interval, stratum(None, prediction.stratum), {})]


def draw_contributions(prediction: PatientPrediction, texts: Mapping[str, str]) -> list[Bar]:
    """Return the largest contributions to the risk, at the last horizon, as bars to both sides of the middle."""
    found: list[tuple[str, float]] = []
    for each in prediction.contributions or ():
        change = each.risk if each.risk is not None else each.horizons[-1].risk
        found.append((each.feature, change))
    found = sorted(found, key=lambda item: -abs(item[1]))[:_MOST_CONTRIBUTIONS]
    largest = max((abs(change) for _, change in found), default=0.0) or 1.0
    return [
        Bar(name, texts.get(name, ""), change, _BAR + min(0.0, change) / largest * _BAR, abs(change) / largest * _BAR)
        for name, change in found
    ]


def squares(n: int) -> list[tuple[int, int, bool]]:
    """Return places of a hundred squares, ten a row, and whether each stands for a patient who has the outcome."""
    return [(12 * (i % 10), 12 * (i // 10), i < n) for i in range(100)]


def find_rules(
    prediction: PatientPrediction, rules: Mapping[str, Any] | None, verdict: Verdict
) -> list[Mapping[str, Any]]:
    """Return the rules of the search that a patient meets, but for horizons at which the model knows nothing."""
    listed: Sequence[Mapping[str, Any]] = (rules or {}).get("rules", [])
    met = [listed[i] for i in prediction.rules if i < len(listed)]
    return [rule for rule in met if not verdict.withholds(rule.get("horizon"))]
