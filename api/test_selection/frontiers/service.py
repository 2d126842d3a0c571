"""Frontiers of a finished search, and the missing tests of a patient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sqlalchemy.orm import Session

from api.auth import Principal
from api.catalogues.choice import load_tests, place_in_choice, read_prices
from api.dependencies import Context
from api.jobs.service import read_error
from api.models.status import check_usable
from api.queue_room import require_room
from api.searches.service import FINISHED, missing_result
from api.test_selection.frontiers.schemas import (
    FrontierDocument,
    FrontierRequest,
    MissingTestDocument,
    MissingTestsDocument,
    MissingTestsRequest,
)
from api.test_selection.problems.building import choose_tests
from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Cohort, classified, from_parquet
from autoprog.csmd import check_tests, missing_tests
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.search import SearchSettings
from autoprog.search.planning import plan_for
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import (
    CohortRepository,
    EvaluationRepository,
    FrontierRepository,
    ModelRepository,
    SearchRepository,
)
from autoprog.storage.tables import JobRow, JobStatus
from autoprog.storage.test_selection_tables import FrontierRow


def create_frontier(
    context: Context, session: Session, owner_id: str, search_id: str, request: FrontierRequest
) -> FrontierDocument:
    """Queue a frontier for a search's best pipeline; raises NotFound-, Conflict-, QueueFull- and InvalidInputError."""
    with context.database.session(read_only=True) as reading:
        search = SearchRepository(reading).get(owner_id, search_id)
        if search.status not in FINISHED:
            raise ConflictError(f"the search has no best pipeline yet: it is {search.status}")
        best = EvaluationRepository(reading).page(owner_id, search_id, sort="score", limit=1).items
        sha256 = CohortRepository(reading).get(owner_id, search.cohort_id).sha256
        catalogue = load_tests(reading, owner_id, request.catalogue_id)
        require_room(context, reading, owner_id)
    if not best or best[0].score is None:
        raise ConflictError(f"the search has no best pipeline: it ended as {search.status}, and none could be fitted")
    cohort = _load_cohort(context.files, sha256)
    classified(cohort, "a frontier of tests", "")
    tests = _checked_tests(request, cohort, catalogue)
    settings = SearchSettings.model_validate(search.settings)
    document: dict[str, Any] = {
        "tests": [test.to_json() for test in tests],
        "configuration": best[0].configuration,
        "plan": asdict(plan_for(settings, cohort, settings.folds or 2)),
    }
    if catalogue is not None:
        document |= {"catalogue_id": request.catalogue_id, "prices": read_prices(request.prices, []).to_json()}
    frontiers = FrontierRepository(session)
    row = frontiers.add(search, document=document, cohort=StoredFile("cohorts", sha256))
    return frontier_document(row, frontiers.load_job(row))


def _checked_tests(
    request: FrontierRequest, cohort: Cohort, catalogue: Sequence[DiagnosticTest] | None
) -> list[DiagnosticTest]:
    faults: list[Fault] = []
    tests = choose_tests(request, request.tests, catalogue, {feature.name for feature in cohort.features}, faults)
    known = {fault.pointer for fault in faults}
    faults += [fault for fault in check_tests(cohort, tests) if fault.pointer not in known]
    if faults:
        raise InvalidInputError(place_in_choice(request, faults))
    return tests


def frontier_document(row: FrontierRow, job: JobRow, *, whole: bool = True) -> FrontierDocument:
    """Return the document of a frontier, without its result in lists."""
    return FrontierDocument(
        id=row.id,
        search_id=row.search_id,
        status=JobStatus(job.status),
        job_id=job.id,
        error=read_error(job),
        tests=row.document["tests"],
        catalogue_id=row.document.get("catalogue_id"),
        prices=row.document.get("prices"),
        configuration=row.document["configuration"],
        result=job.result if whole else None,
        created_at=row.created_at,
    )


def rank_missing_tests(
    context: Context, principal: Principal, search_id: str, frontier_id: str, request: MissingTestsRequest
) -> MissingTestsDocument:
    """Rank a patient's missing tests by change of risk per cost; raises ConflictError if no model may predict."""
    owner_id = principal.owner_id
    with context.database.session(read_only=True) as reading:
        frontier = FrontierRepository(reading).of(owner_id, search_id, frontier_id)
        search = SearchRepository(reading).get(owner_id, search_id)
        if search.model_id is None:
            raise missing_result(search, "model")
        row = ModelRepository(reading).get_briefly(owner_id, search.model_id)
        check_usable(reading, principal, row)
        sha256 = CohortRepository(reading).get(owner_id, search.cohort_id).sha256
    if not isinstance(request.patient, dict):
        raise InvalidInputError([Fault("/patient", "must be an object")])
    model, cohort = context.load_model(row.sha256), _load_cohort(context.files, sha256)
    tests = [DiagnosticTest.from_json(test) for test in frontier.document["tests"]]
    found = missing_tests(cohort, tests, request.patient, model.risks)
    return MissingTestsDocument(
        model_id=row.id,
        risk=found.risk,
        items=[MissingTestDocument(**_shown(asdict(each))) for each in found.tests],
        warnings=list(found.warnings),
    )


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    per_cost = found["change_per_cost"]
    return found | {"change_per_cost": "inf" if math.isinf(per_cost) else per_cost}


@lru_cache(maxsize=4)
def _load_cohort(files: Files, sha256: str) -> Cohort:
    return from_parquet(files.get("cohorts", sha256))
