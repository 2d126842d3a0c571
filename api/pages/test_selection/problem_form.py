"""The form of a test selection, and the problem that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from api.pages.forms import SentForm
from api.pages.numbers import TypedNumbers
from api.pages.test_lines import TestLine, read_lines
from api.problems import faults_of_validation
from api.test_selection.problems.schemas import ProblemRequest
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.test_selection_tables import CatalogueRow, SelectionProblemRow

# Of a copied problem; the form does not show them.
_KEPT = ("a", "alpha", "seed", "configuration", "folds", "threshold")
_OF_TRAINING = ("configuration", "folds", "threshold")


@dataclass(frozen=True, slots=True)
class ProblemForm:
    """Values of the form, which has tests of its own, or some of a catalogue at prices for minutes and harm."""

    name: str = ""
    structure: str = "cascade"
    algorithm: str = "ts"
    trade_off: str = "1"
    cohort_id: str = ""
    tests: tuple[TestLine, ...] = ()
    copied_id: str = ""
    catalogue_id: str = ""
    chosen: tuple[str, ...] | None = None  # names of the catalogue's tests; None for all
    minute: str = ""
    harm: str = ""


def copy_problem(row: SelectionProblemRow, numbers: TypedNumbers) -> ProblemForm:
    """Return the form filled in from a problem."""
    document = row.document
    trade_off = document["trade_off"]
    return ProblemForm(
        name=row.name,
        structure=document["structure"],
        algorithm=document["algorithm"],
        trade_off=" ".join(map(numbers.write, trade_off if isinstance(trade_off, list) else [trade_off])),
        cohort_id=row.cohort_id or "",
        tests=tuple(TestLine.from_document(test, numbers) for test in document["tests"]),
        copied_id=row.id,
    )


def take_catalogue(row: CatalogueRow) -> ProblemForm:
    """Return the form with all tests of a catalogue."""
    return ProblemForm(name=row.name, catalogue_id=row.id)


def read_problem(form: SentForm) -> ProblemForm:
    """Return a form as it was sent, without its blank lines."""
    return ProblemForm(
        name=form.get("name"),
        structure=form.get("structure"),
        algorithm=form.get("algorithm"),
        trade_off=form.get("trade_off"),
        cohort_id=form.get("cohort_id"),
        tests=read_lines(form),
        copied_id=form.get("copied_id"),
        catalogue_id=form.get("catalogue_id"),
        chosen=tuple(form.all("chosen")),
        minute=form.get("minute"),
        harm=form.get("harm"),
    )


def build_request(
    sent: ProblemForm, copied: SelectionProblemRow | None, catalogue: CatalogueRow | None, numbers: TypedNumbers
) -> ProblemRequest:
    """Make the request for a problem, with the hidden settings of the one it was copied from."""
    document: Mapping[str, Any] = {} if copied is None else copied.document
    settings = {name: document[name] for name in _KEPT if document.get(name) is not None}
    if copied is not None and sent.algorithm != document["algorithm"]:
        settings = {name: value for name, value in settings.items() if name not in {"a", "alpha"}}
    if not sent.cohort_id:
        settings = {name: value for name, value in settings.items() if name not in _OF_TRAINING}
    faults: list[Fault] = []
    trade_off = [numbers.read(part, "/trade_off", faults) for part in sent.trade_off.split()]
    if catalogue is None:
        tests: dict[str, Any] = {"tests": [line.to_document(k, numbers, faults) for k, line in enumerate(sent.tests)]}
    else:
        tests = _choice(sent, catalogue, numbers, faults)
    fields = {
        **settings,
        "name": sent.name,
        "structure": sent.structure,
        "algorithm": sent.algorithm,
        "trade_off": trade_off[0] if len(trade_off) == 1 else trade_off,
        "cohort_id": sent.cohort_id or None,
        **tests,
    }
    try:
        return ProblemRequest.model_validate(fields).beside(faults)
    except ValidationError as error:
        raise InvalidInputError([*faults, *faults_of_validation(error.errors(include_input=False))]) from None


def _choice(sent: ProblemForm, catalogue: CatalogueRow, numbers: TypedNumbers, faults: list[Fault]) -> dict[str, Any]:
    """Return the tests of a catalogue. All of them are those that the cohort can use, if there is one."""
    names = [test["name"] for test in catalogue.document["tests"]]
    chosen = [name for name in names if sent.chosen is None or name in sent.chosen]
    prices = {
        "minute": numbers.read(sent.minute or "0", "/prices/minute", faults),
        "harm": numbers.read(sent.harm or "0", "/prices/harm", faults),
    }
    return {
        "catalogue_id": catalogue.id,
        "prices": prices,
        **({} if chosen == names else {"test_names": chosen}),
    }
