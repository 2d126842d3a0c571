"""Rounds of test selection: choose an arm, and count its feedback.

The lock of the problem's row serialises opening and closing, so that a round's number and arm do not depend on which
request came first. The classifiers take longer; they are computed before the lock is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.diagnosis.names import is_name
from api.problems import to_pointer
from api.test_selection.problems.service import require_trained
from api.test_selection.rounds.schemas import FeedbackRequest, NextTestDocument, RoundDocument
from autoprog.app.live_problems import pack_outputs
from autoprog.csmd import ArmClassifiers, Arms, bedside_state, check_predictions
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.repositories import SelectionProblemRepository, SelectionRoundRepository
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionRoundRow

_CLOSED = "the round is closed: other feedback has been counted"


def open_round(context: Context, session: Session, owner_id: str, problem_id: str) -> RoundDocument:
    """Choose an arm for the next patient; raises NotFoundError, or ConflictError if the classifiers are not trained."""
    problem = SelectionProblemRepository(session).lock_for_round(owner_id, problem_id)
    require_trained(problem)
    live = context.live_problems.current(session, problem)
    context.live_problems.keep_snapshot(session, problem, live)
    rng = np.random.default_rng([problem.document["seed"], problem.n_rounds])
    arm = live.problem.choose(live.counts, problem.n_rounds, rng)
    measurements: dict[str, Any] | None = {} if problem.document["takes"] == "measurements" else None
    row = SelectionRoundRepository(session).open(problem, arm, measurements)
    return round_document(live.problem.arms, row)


def give_feedback(
    context: Context, session: Session, owner_id: str, problem_id: str, round_id: str, request: FeedbackRequest
) -> RoundDocument:
    """Take a round's feedback and count it once; raises NotFoundError, InvalidInputError and ConflictError."""
    # The first statement in `session` comes after everything is computed.
    with context.database.session(read_only=True) as reading:
        problem = SelectionProblemRepository(reading).get(owner_id, problem_id)
        row = SelectionRoundRepository(reading).of(owner_id, problem_id, round_id)
    _check_kind(problem, request)
    if request.measurements is not None:
        return _take_measurements(context, session, problem, row, request.measurements)
    return _take_predictions(context, session, problem, row, request.predictions)


def _check_kind(problem: SelectionProblemRow, request: FeedbackRequest) -> None:
    takes = problem.document["takes"]
    faults = []
    for name in ("predictions", "measurements"):
        given = getattr(request, name)
        if name != takes and given is not None:
            faults.append(Fault(f"/{name}", f"this problem takes {takes}"))
        elif name == takes and not isinstance(given, dict):
            faults.append(Fault(f"/{name}", "must be an object"))
    if faults:
        raise InvalidInputError(faults)


def _take_predictions(
    context: Context,
    session: Session,
    problem: SelectionProblemRow,
    row: SelectionRoundRow,
    predictions: Mapping[str, object],
) -> RoundDocument:
    arms = context.live_problems.arms(problem)
    outputs = check_predictions(arms, row.arm, predictions)
    outcome = {"predictions": _named(arms, row.arm, outputs)}
    rounds = SelectionRoundRepository(session)
    problem = SelectionProblemRepository(session).lock(row.owner_id, row.problem_id)
    row = rounds.of(row.owner_id, row.problem_id, row.id, lock=True)
    if row.outcome is None:
        cost = arms.arms[row.arm].cost
        rounds.close(problem, row, outputs=pack_outputs(outputs), outcome=outcome, cost=cost)
    elif row.outcome != outcome:
        raise ConflictError(_CLOSED)
    return round_document(arms, row)


@dataclass(frozen=True, slots=True)
class _Step:
    """A round's state after some measurements."""

    measurements: Mapping[str, object]
    cost: float
    outputs: NDArray[np.int8] | None
    outcome: Mapping[str, Any] | None


def _take_measurements(
    context: Context,
    session: Session,
    problem: SelectionProblemRow,
    row: SelectionRoundRow,
    measurements: Mapping[str, object],
) -> RoundDocument:
    require_trained(problem)
    classifiers = context.load_arms(problem.arms_sha256 or "")
    measurements = _storable(measurements)
    classifiers.check(measurements)
    step = _step(classifiers, row, measurements)
    rounds = SelectionRoundRepository(session)
    problem = SelectionProblemRepository(session).lock(row.owner_id, row.problem_id)
    locked = rounds.of(row.owner_id, row.problem_id, row.id, lock=True)
    if locked.outcome is not None:
        known = locked.measurements or {}
        if any(name not in known or known[name] != value for name, value in measurements.items()):
            raise ConflictError(_CLOSED)
        return round_document(classifiers.arms, locked)
    if locked.version != row.version:  # others have sent measurements of this patient meanwhile
        step = _step(classifiers, locked, measurements)
    rounds.measure(locked, step.measurements, step.cost)
    if step.outputs is not None and step.outcome is not None:
        rounds.close(problem, locked, outputs=pack_outputs(step.outputs), outcome=step.outcome, cost=step.cost)
    return round_document(classifiers.arms, locked)


def _step(classifiers: ArmClassifiers, row: SelectionRoundRow, measurements: Mapping[str, object]) -> _Step:
    """Add measurements to a round; a feature sent again before the round is closed replaces its former value."""
    known = {**(row.measurements or {}), **measurements}
    state = bedside_state(classifiers.arms, row.arm, known)
    if not state.complete:
        return _Step(known, state.cost, None, None)
    reading = classifiers.read(row.arm, known)
    outputs = check_predictions(classifiers.arms, row.arm, reading.predictions)
    outcome = {
        "predictions": dict(reading.predictions),
        "risks": dict(reading.risks),
        "warnings": list(reading.warnings),
    }
    return _Step(known, state.cost, outputs, outcome)


def _storable(measurements: Mapping[str, object]) -> dict[str, object]:
    """Return measurements that JSON can hold: NaN, as Python spells it, becomes null; raises InvalidInputError."""
    faults = [
        Fault(to_pointer(("measurements", name)), "must be a number, a boolean, a text of a level, or null")
        for name, value in measurements.items()
        if not (value is None or isinstance(value, bool | int | float) or is_name(value))
    ]
    if faults:
        raise InvalidInputError(faults)
    return {name: None if value != value else value for name, value in measurements.items()}  # noqa: PLR0124  NaN


def _named(arms: Arms, arm: int, outputs: NDArray[np.int8]) -> dict[str, int]:
    revealed = arms.revealed(arm)
    return {arms.arms[index].id: int(output) for index, output in zip(revealed, outputs, strict=True)}


def round_document(arms: Arms, row: SelectionRoundRow) -> RoundDocument:
    """Return the document of a round."""
    arm, outcome = arms.arms[row.arm], row.outcome or {}
    names = [arms.tests[k].name for k in arm.tests]
    predictions = outcome.get("predictions")
    if row.measurements is None:
        done, following, spent = (names, None, arm.cost) if row.outcome is not None else ([], None, 0.0)
        to_come = arm.cost - spent
    else:
        state = bedside_state(arms, row.arm, row.measurements)
        done, following = list(state.done), _next_test(arms, state.next_test)
        spent, to_come = state.cost, state.cost_to_come
    return RoundDocument(
        id=row.id,
        problem_id=row.problem_id,
        number=row.number,
        arm=arm.id,
        tests=names,
        cost=arm.cost,
        status="open" if row.outcome is None else "closed",
        prediction=None if predictions is None else predictions[arm.id],
        predictions=predictions,
        risks=outcome.get("risks"),
        next_test=following,
        tests_done=done,
        cost_spent=spent,
        cost_to_come=to_come,
        measurements=row.measurements,
        warnings=outcome.get("warnings", []),
        created_at=row.created_at,
        closed_at=row.closed_at,
    )


def _next_test(arms: Arms, name: str | None) -> NextTestDocument | None:
    if name is None:
        return None
    test = next(test for test in arms.tests if test.name == name)
    return NextTestDocument(name=test.name, cost=test.cost, features=list(test.features))
