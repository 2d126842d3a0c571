"""Make and show catalogues."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.catalogues.choice import build_features
from api.catalogues.schemas import CatalogueDocument, CatalogueRequest
from api.diagnosis.names import NAME_FAULT, is_name
from api.numbers import parse_number
from api.uploads import attempt
from autoprog.catalogue import DiagnosticTest, check_catalogue
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.repositories import CatalogueRepository
from autoprog.storage.test_selection_tables import CatalogueRow


def create_catalogue(session: Session, owner_id: str, request: CatalogueRequest) -> CatalogueRow:
    """Store a catalogue; raises InvalidInputError with every fault."""
    faults = request.faults
    if not is_name(request.name):
        faults.append(Fault("/name", NAME_FAULT))
    tests = _build_tests(request, faults)
    told = {fault.pointer for fault in faults}
    found: list[Fault] = []
    attempt(found, lambda: check_catalogue(tests))
    faults += [fault for fault in found if fault.pointer not in told]
    if faults:
        raise InvalidInputError(faults)
    document = {"tests": [test.to_json() for test in tests]}
    return CatalogueRepository(session).add(owner_id, name=request.name, document=document)


def _build_tests(request: CatalogueRequest, faults: list[Fault]) -> list[DiagnosticTest]:
    tests = []
    for k, test in enumerate(request.tests):
        place, amounts = f"/tests/{k}", {}
        if not is_name(test.name):
            faults.append(Fault(f"{place}/name", NAME_FAULT))
        for kind in ("cost", "minutes", "harm"):
            number = parse_number(getattr(test, kind))
            if number is None:
                faults.append(Fault(f"{place}/{kind}", "must be a number"))
            amounts[kind] = 0.0 if number is None else number
        features = build_features(test.features, f"{place}/features", faults)
        name = test.name if is_name(test.name) else f"test {k + 1}"
        tests.append(DiagnosticTest(name, amounts["cost"], features, amounts["minutes"], amounts["harm"]))
    return tests


def catalogue_document(row: CatalogueRow) -> CatalogueDocument:
    """Return the document of a catalogue."""
    return CatalogueDocument(id=row.id, name=row.name, tests=row.document["tests"], created_at=row.created_at)
