"""Make learners, teach them, and turn them into models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.diagnosis.learners.schemas import (
    MAX_PARAMETERS,
    MAX_SECONDS,
    CaseRequest,
    CasesDocument,
    CasesRequest,
    LearnerDocument,
    LearnerRequest,
    LearntModelRequest,
    StudiedDocument,
)
from api.diagnosis.models.building import build_options, expanded_model, name_faults
from api.diagnosis.models.service import keep_model
from api.problems import to_pointer
from api.uploads import attempt
from autoprog.diagnosis import Finding, ResponseLearner
from autoprog.errors import Fault, InvalidInputError, TooLargeError
from autoprog.storage.repositories import DiagnosisLearnerRepository
from autoprog.storage.tables import DiagnosisLearnerRow, DiagnosisModelRow

# Expected seconds to draw and learn one finding, and what each label adds.
_DRAW_S, _LABEL_S = 1e-4, 1e-6


def create_learner(session: Session, owner_id: str, request: LearnerRequest) -> DiagnosisLearnerRow:
    """Store a learner that has seen no case; raises InvalidInputError and TooLargeError."""
    size = len(request.labels) * sum(len(finding.thresholds) for finding in request.findings)
    if size > MAX_PARAMETERS:
        raise TooLargeError(f"{size:,} pairs of a label and a threshold, at most {MAX_PARAMETERS:,} are allowed")
    findings = [Finding(finding.name, tuple(finding.thresholds)) for finding in request.findings]
    learner = ResponseLearner(findings, request.labels)
    return DiagnosisLearnerRepository(session).add(
        owner_id,
        name=request.name,
        seed=request.seed,
        document=_make_document(learner),
        state=learner.to_json(),
    )


def study_cases(
    context: Context, session: Session, owner_id: str, learner_id: str, request: CasesRequest
) -> CasesDocument:
    """Teach a learner cases, all or none; raises NotFoundError, InvalidInputError, TooLargeError and ConflictError."""
    row, learner = _load(context, owner_id, learner_id)  # in a transaction of its own
    _check_effort(learner, request)
    values, labels = _cases(learner, request.cases)
    rng = np.random.default_rng([row.seed, row.n_cases])
    studied = [
        learner.study(x, label, rng, certainty=request.certainty, most=request.most)
        for x, label in zip(values, labels, strict=True)
    ]
    n_cases = row.n_cases + len(studied)
    state, document = learner.to_json(), _make_document(learner)
    DiagnosisLearnerRepository(session).change(row, n_cases=n_cases, document=document, state=state)
    items = [
        StudiedDocument(
            asked=[learner.findings[i].name for i in each.asked],
            predicted=learner.labels[each.predicted],
            certainty=each.certainty,
            correct=each.predicted == label,
        )
        for each, label in zip(studied, labels, strict=True)
    ]
    return CasesDocument(
        items=items,
        accuracy=float(np.mean([item.correct for item in items])),
        mean_asked=float(np.mean([len(item.asked) for item in items])),
        n_cases=n_cases,
    )


def create_learnt_model(
    context: Context, session: Session, owner_id: str, learner_id: str, request: LearntModelRequest
) -> DiagnosisModelRow:
    """Make a diagnosis model of what was learnt; raises NotFoundError and InvalidInputError."""
    _, learner = _load(context, owner_id, learner_id)
    faults = name_faults(request)
    model = attempt(faults, lambda: expanded_model(learner.to_model(build_options(request)), request))
    if model is None or faults:
        raise InvalidInputError(faults)
    return keep_model(context, session, owner_id, request, model)


def _load(context: Context, owner_id: str, learner_id: str) -> tuple[DiagnosisLearnerRow, ResponseLearner]:
    with context.database.session(read_only=True) as reading:
        row = DiagnosisLearnerRepository(reading).with_state(owner_id, learner_id)
    return row, ResponseLearner.from_json(row.state)


def _check_effort(learner: ResponseLearner, request: CasesRequest) -> None:
    """Raise TooLargeError for cases that could take too long: each question draws for every finding not yet known."""
    n = len(learner.findings)
    asked = n if request.most is None else min(request.most, n)
    draws = len(request.cases) * (asked * n - asked * (asked - 1) // 2)
    seconds = draws * (_DRAW_S + _LABEL_S * len(learner.labels))
    if seconds > MAX_SECONDS:
        raise TooLargeError(
            f"{len(request.cases):,} cases of {asked:,} of {n:,} findings could take {seconds:,.0f} s, at most "
            f"{MAX_SECONDS:.0f} are allowed: send fewer cases at a time, or a smaller `most`"
        )


def _cases(learner: ResponseLearner, cases: list[CaseRequest]) -> tuple[list[np.ndarray[Any, Any]], list[int]]:
    """Return the values and label of every case; raises InvalidInputError."""
    places = {finding.name: i for i, finding in enumerate(learner.findings)}
    codes = {label: i for i, label in enumerate(learner.labels)}
    faults: list[Fault] = []
    values = [_values(learner, places, case.values, i, faults) for i, case in enumerate(cases)]
    faults += [
        Fault(f"/cases/{i}/label", "is none of the learner's labels")
        for i, case in enumerate(cases)
        if case.label not in codes
    ]
    if faults:
        raise InvalidInputError(faults)
    return values, [codes[case.label] for case in cases]


def _values(
    learner: ResponseLearner, places: Mapping[str, int], given: Mapping[str, float | None], case: int,
    faults: list[Fault],
) -> np.ndarray[Any, Any]:  # fmt: skip
    values = np.full(len(learner.findings), math.nan)
    for name, value in given.items():
        place = to_pointer(("cases", case, "values", name))
        if name not in places:
            faults.append(Fault(place, "the learner has no such finding"))
        elif value is not None and learner.findings[places[name]].thresholds == (0.5,) and value not in {0, 1}:
            faults.append(Fault(place, "must be 0 or 1: the finding has no thresholds of its own"))
        elif value is not None:
            values[places[name]] = float(value)
    return values


def _make_document(learner: ResponseLearner) -> dict[str, Any]:
    preferred = {learner.findings[i].name: threshold for i, threshold in learner.thresholds().items()}
    return {
        "findings": [{"name": f.name, "thresholds": list(f.thresholds)} for f in learner.findings],
        "labels": list(learner.labels),
        "counts": learner.counts.tolist(),
        "preferred": preferred,
    }


def learner_document(row: DiagnosisLearnerRow) -> LearnerDocument:
    """Return the document of a learner."""
    return LearnerDocument(
        **row.document,
        id=row.id,
        name=row.name,
        n_cases=row.n_cases,
        seed=row.seed,
        created_at=row.created_at,
        changed_at=row.changed_at,
    )
