"""The form of a catalogue of tests, and the problem that it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from api.pages.forms import SentForm
from api.problems import faults_of_validation
from api.test_selection.problems.schemas import ProblemRequest
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.test_selection_tables import SelectionProblemRow

_BLANK_ROWS = 3
_KEPT = (
    "a",
    "alpha",
    "seed",
    "configuration",
    "folds",
    "threshold",
)  # of a copied problem; the form does not show them
_OF_TRAINING = ("configuration", "folds", "threshold")


@dataclass(frozen=True, slots=True)
class TestLine:
    """A line of the catalogue, as text."""

    name: str = ""
    cost: str = ""
    features: str = ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the form shows."""

    name: str = ""
    structure: str = "cascade"
    algorithm: str = "ts"
    trade_off: str = "1"
    cohort_id: str = ""
    tests: tuple[TestLine, ...] = ()
    copied_id: str = ""

    def lines(self, more: int = 0) -> list[TestLine]:
        """Return the lines of the form, some of them blank."""
        return [*self.tests, *[TestLine()] * (_BLANK_ROWS + more)]


def copy_catalogue(row: SelectionProblemRow) -> Catalogue:
    """Return the form filled in from a problem."""
    document = row.document
    trade_off = document["trade_off"]
    return Catalogue(
        name=row.name,
        structure=document["structure"],
        algorithm=document["algorithm"],
        trade_off=" ".join(map(_text, trade_off)) if isinstance(trade_off, list) else _text(trade_off),
        cohort_id=row.cohort_id or "",
        tests=tuple(
            TestLine(test["name"], _text(test["cost"]), ", ".join(test.get("features", ())))
            for test in document["tests"]
        ),
        copied_id=row.id,
    )


def read_catalogue(form: SentForm) -> Catalogue:
    """Return a form as it was sent, without its blank lines."""
    columns = [[text.strip() for text in form.all(name)] for name in ("test", "cost", "features")]
    n_lines = max(map(len, columns))
    padded = [column + [""] * (n_lines - len(column)) for column in columns]
    return Catalogue(
        name=form.get("name"),
        structure=form.get("structure"),
        algorithm=form.get("algorithm"),
        trade_off=form.get("trade_off"),
        cohort_id=form.get("cohort_id"),
        tests=tuple(TestLine(*cells) for cells in zip(*padded, strict=True) if any(cells)),
        copied_id=form.get("copied_id"),
    )


def build_request(catalogue: Catalogue, copied: SelectionProblemRow | None) -> ProblemRequest:
    """Make the request for a problem, with the hidden settings of the one it was copied from."""
    document: Mapping[str, Any] = {} if copied is None else copied.document
    settings = {name: document[name] for name in _KEPT if document.get(name) is not None}
    if copied is not None and catalogue.algorithm != document["algorithm"]:
        settings = {name: value for name, value in settings.items() if name not in {"a", "alpha"}}
    if not catalogue.cohort_id:
        settings = {name: value for name, value in settings.items() if name not in _OF_TRAINING}
    numbers = [_number(part) for part in catalogue.trade_off.split()]
    fields = {
        **settings,
        "name": catalogue.name,
        "structure": catalogue.structure,
        "algorithm": catalogue.algorithm,
        "trade_off": numbers[0] if len(numbers) == 1 else numbers,
        "cohort_id": catalogue.cohort_id or None,
        "tests": [_test(line) for line in catalogue.tests],
    }
    try:
        return ProblemRequest.model_validate(fields)
    except ValidationError as error:
        raise InvalidInputError(faults_of_validation(error.errors(include_input=False))) from None


def _test(line: TestLine) -> dict[str, Any]:
    test: dict[str, Any] = {"name": line.name, "cost": _number(line.cost)}
    if line.features:
        test["features"] = [name.strip() for name in line.features.split(",") if name.strip()]
    return test


def _number(text: str) -> float | str:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text


def _text(number: float) -> str:
    return f"{number:.15g}"


def say_faults(faults: Sequence[Fault], catalogue: Catalogue) -> list[str]:
    """Return faults by the line of the form, without pointers into a document that nobody here has written."""
    return list(dict.fromkeys(_say(fault, catalogue) for fault in faults))


def _say(fault: Fault, catalogue: Catalogue) -> str:
    _, first, *rest = [*fault.pointer.split("/"), ""]
    if first == "tests" and rest and rest[0].isdecimal() and int(rest[0]) < len(catalogue.tests):
        line = catalogue.tests[int(rest[0])]
        return f"{line.name or int(rest[0]) + 1}: {fault.detail}"
    return f"{first}: {fault.detail}" if first else fault.detail
