"""Threshold learners; everything is computed before the transaction writes, so that it stays short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.thresholds.building import build_learner, read_cases
from api.thresholds.schemas import (
    CandidateDocument,
    CutCasesDocument,
    CutCasesRequest,
    CutDocument,
    QuestionDocument,
    StudiedCutDocument,
    ThresholdLearnerDocument,
    ThresholdLearnerRequest,
    ThresholdLearnerSummary,
)
from autoprog.diagnosis.discretization import Cut, CutCase, CutLearner
from autoprog.storage.repositories import ThresholdLearnerRepository
from autoprog.storage.test_selection_tables import ThresholdLearnerRow


def create_learner(session: Session, owner_id: str, request: ThresholdLearnerRequest) -> ThresholdLearnerDocument:
    """Store a learner that has seen no case; raises InvalidInputError and TooLargeError."""
    learner = build_learner(request)
    document, state = _make_document(learner), learner.to_json()
    learnt = _find_cuts(state)
    row = ThresholdLearnerRepository(session).add(owner_id, name=request.name, document=document, state=state)
    return ThresholdLearnerDocument(**_shown(row), **learnt)


def study_cases(
    context: Context, session: Session, owner_id: str, learner_id: str, request: CutCasesRequest
) -> CutCasesDocument:
    """Teach a learner all cases, or none if one has a fault; raises NotFoundError, InvalidInputError, TooLargeError."""
    row = _load(context, owner_id, learner_id)  # in a transaction of its own: others can write meanwhile
    learner, told = _study(row, request)
    learners = ThresholdLearnerRepository(session)
    present = learners.lock(owner_id, learner_id)
    if present.document["n_cases"] != row.document["n_cases"]:
        learner, told = _study(present, request)  # it has learnt other cases meanwhile; nobody can any more
    learners.change(present, document=_make_document(learner), state=learner.to_json())
    return told


def _study(row: ThresholdLearnerRow, request: CutCasesRequest) -> tuple[CutLearner, CutCasesDocument]:
    learner = CutLearner.from_json(row.state)
    values, labels = read_cases(learner, request)
    studied = [learner.study(x, label) for x, label in zip(values, labels, strict=True)]
    items = [_studied(learner, case, label) for case, label in zip(studied, labels, strict=True)]
    accuracy = float(np.mean([item.correct for item in items]))
    return learner, CutCasesDocument(items=items, accuracy=accuracy, n_cases=learner.n_cases)


def _studied(learner: CutLearner, case: CutCase, label: int) -> StudiedCutDocument:
    return StudiedCutDocument(
        feature=None if case.feature is None else learner.features[case.feature].name,
        threshold=case.threshold,
        above=case.answer,
        predicted=learner.labels[case.predicted],
        certainty=case.certainty,
        correct=case.predicted == label,
    )


def _make_document(learner: CutLearner) -> dict[str, Any]:
    """Return everything that lists show of a learner besides the row's columns."""
    options = learner.options
    return {
        "features": [{"name": f.name, "thresholds": list(f.thresholds)} for f in learner.features],
        "labels": list(learner.labels),
        "updates": options.updates,
        "choice": options.choice,
        **options.bandit.to_json(),
        "prior": list(options.prior),
        "seed": options.seed,
        "counts": dict(zip(learner.labels, learner.counts.tolist(), strict=True)),
        "n_cases": learner.n_cases,
    }


def learner_summary(row: ThresholdLearnerRow) -> ThresholdLearnerSummary:
    """Return a learner as a list shows it."""
    return ThresholdLearnerSummary(**_shown(row))


def load_learner(context: Context, owner_id: str, learner_id: str) -> ThresholdLearnerDocument:
    """Return the document of a learner, with its cuts; raises NotFoundError."""
    row = _load(context, owner_id, learner_id)
    return ThresholdLearnerDocument(**_shown(row), **_find_cuts(row.state))


def _load(context: Context, owner_id: str, learner_id: str) -> ThresholdLearnerRow:
    with context.database.session(read_only=True) as reading:
        return ThresholdLearnerRepository(reading).with_state(owner_id, learner_id)


def _find_cuts(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a learner's document that takes seconds to compute."""
    learner = CutLearner.from_json(state)
    question = learner.question()
    return {
        "cuts": [_cut(learner, each.name, cut) for each, cut in zip(learner.features, learner.cuts(), strict=True)],
        "next_question": QuestionDocument(
            feature=learner.features[question.feature].name, threshold=question.threshold
        ),
    }


def _shown(row: ThresholdLearnerRow) -> Mapping[str, Any]:
    columns = {name: getattr(row, name) for name in ("id", "name", "created_at", "changed_at")}
    return {**row.document, **columns}


def _cut(learner: CutLearner, feature: str, cut: Cut) -> CutDocument:
    tau = next(each.thresholds for each in learner.features if each.name == feature)
    numbers = ("threshold", "probability", "lower", "upper", "information", "information_lower", "information_upper")
    return CutDocument(
        feature=feature,
        **{name: getattr(cut, name) for name in numbers},
        above=dict(zip(learner.labels, cut.above.tolist(), strict=True)),
        n_cases=cut.n_cases,
        candidates=[
            CandidateDocument(threshold=threshold, best=best, drawn=drawn)
            for threshold, best, drawn in zip(tau, cut.probabilities.tolist(), cut.drawn.tolist(), strict=True)
        ],
    )
