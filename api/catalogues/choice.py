"""Tests of a request: written out in it, or taken from a catalogue at the request's prices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from api.catalogues.schemas import PricesRequest, TestsOfCatalogue
from api.diagnosis.names import NAME_FAULT, is_name
from api.numbers import parse_number
from autoprog.catalogue import DiagnosticTest, Prices, check_prices
from autoprog.cohort.messages import make_suggester
from autoprog.errors import Fault
from autoprog.storage.repositories import CatalogueRepository

_MAX_FEATURES = 10_000


def load_tests(session: Session, owner_id: str, catalogue_id: str | None) -> list[DiagnosticTest] | None:
    """Read the tests of a catalogue; None without one. Raises NotFoundError."""
    if catalogue_id is None:
        return None
    row = CatalogueRepository(session).get(owner_id, catalogue_id)
    return [DiagnosticTest.from_json(test) for test in row.document["tests"]]


def read_prices(request: PricesRequest | None, faults: list[Fault]) -> Prices:
    """Read prices; what is invalid becomes a fault and is replaced by 0."""
    if request is None:
        return Prices()
    minute, harm = parse_number(request.minute), parse_number(request.harm)
    faults += [
        Fault(f"/prices/{name}", "must be a number")
        for name, value in (("minute", minute), ("harm", harm))
        if value is None
    ]
    prices = Prices(minute or 0.0, harm or 0.0)
    wrong = check_prices(prices)
    faults += wrong
    return Prices() if wrong else prices


def take_tests(
    request: TestsOfCatalogue,
    catalogue: Sequence[DiagnosticTest],
    features: Collection[str] | None,
    faults: list[Fault],
) -> list[DiagnosticTest]:
    """Take tests from a catalogue at the request's prices, with the cohort's `features` that they reveal, if any."""
    prices = read_prices(request.prices, faults)
    named = _named_tests(request.test_names, catalogue, faults)
    taken = []
    for k, test in enumerate(catalogue if named is None else named):
        revealed = () if features is None else tuple(name for name in test.revealed if name in features)
        if features is None or revealed or named is not None:
            taken.append(replace(test, features=revealed))
        if features is not None and not revealed and named is not None:
            faults.append(Fault(f"/test_names/{k}", f"{test.name} reveals no feature of the cohort"))
    if not taken and named is None:
        faults.append(Fault("/catalogue_id", "no test of the catalogue reveals a feature of the cohort"))
    return prices.priced(taken)


def without_catalogue(request: TestsOfCatalogue) -> list[Fault]:
    """Faults of a request that has no catalogue and still chooses from one."""
    given = [name for name in ("test_names", "prices") if getattr(request, name) is not None]
    return [Fault(f"/{name}", "belongs to the tests of a catalogue: give `catalogue_id` too") for name in given]


def _named_tests(
    names: object, catalogue: Sequence[DiagnosticTest], faults: list[Fault]
) -> list[DiagnosticTest] | None:
    if names is None:
        return None
    if not isinstance(names, list) or not names:
        faults.append(Fault("/test_names", "must be a list of one name or more"))
        return []
    by_name = {test.name: test for test in catalogue}
    suggest = make_suggester(by_name)
    found = []  # as long as the names, so that faults of tests have their places
    for k, name in enumerate(names):
        if isinstance(name, str) and name in by_name:
            found.append(by_name[name])
        else:
            found.append(DiagnosticTest(f"test {k + 1}", 0.0))
            near = suggest(name) if isinstance(name, str) else ""
            faults.append(Fault(f"/test_names/{k}", f"the catalogue has no such test{near}"))
    return found


def build_features(given: object, place: str, faults: list[Fault]) -> tuple[str, ...]:
    """Read the names of what a test reveals; faults lie below `place`."""
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > _MAX_FEATURES:
        faults.append(Fault(place, f"must be a list of at most {_MAX_FEATURES:,} names"))
        return ()
    wrong = [Fault(f"{place}/{f}", NAME_FAULT) for f, name in enumerate(given) if not is_name(name)]
    faults += wrong
    return () if wrong else tuple(given)


def place_in_choice(request: TestsOfCatalogue, faults: Sequence[Fault]) -> list[Fault]:
    """Move faults of tests from `/tests` to what the request says of a catalogue, the first of each place."""
    if request.catalogue_id is None:
        return list(faults)
    moved = [replace(fault, pointer=_placed(request, fault.pointer)) for fault in faults]
    return list({fault.pointer: fault for fault in reversed(moved)}.values())[::-1]


def _placed(request: TestsOfCatalogue, pointer: str) -> str:
    _, first, *rest = pointer.split("/")
    if first != "tests":
        return pointer
    if request.test_names is None:
        return "/catalogue_id"
    return "/".join(["", "test_names", *rest[:1]])
