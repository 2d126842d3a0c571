"""Replays: run at once, or queued if they take longer than a client can wait."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.jobs.service import read_error
from api.numbers import MAX_SEED, is_integer
from api.queue_room import require_room
from api.quota import check_quota, check_stored
from api.test_selection.replays.schemas import (
    MAX_ROUNDS,
    MAX_STEPS,
    ReplayDocument,
    ReplayRequest,
    ReplayResult,
)
from autoprog.csmd import PredictionTable, checked_table, problem_from_json, replay
from autoprog.errors import Fault, InvalidInputError, TooLargeError
from autoprog.storage.repositories import SelectionProblemRepository, SelectionReplayRepository
from autoprog.storage.stored_files import store_file
from autoprog.storage.tables import JobRow, JobStatus
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionReplayRow

MAX_SECONDS_AT_ONCE = 0.5
"""Longest expected time of a replay that is run while the client waits."""

_MAX_CELLS = 10_000_000
# Measured seconds of a round of all repetitions run side by side, of a pair of arms in each of them, and of a cell of
# the table and another arm.
_ROUND_S, _PAIR_S, _CELL_S, _SIDE_BY_SIDE = 7e-5, 1.6e-7, 1e-10, 256
_INTEGERS = {"rounds": (1, MAX_ROUNDS), "repetitions": (1, MAX_STEPS), "seed": (0, MAX_SEED - 1)}


@dataclass(frozen=True, eq=False)
class CheckedReplay:
    """A checked replay, ready to run."""

    problem: SelectionProblemRow
    table: PredictionTable
    rounds: int
    repetitions: int
    order: str
    seed: int

    @property
    def seconds(self) -> float:
        """Expected processor seconds of a replay."""
        arms = problem_from_json(self.problem.document).arms
        passes = math.ceil(self.repetitions / _SIDE_BY_SIDE)
        playing = self.rounds * (_ROUND_S * passes + _PAIR_S * arms.n_pairs * self.repetitions)
        return playing + _CELL_S * self.table.predictions.size * len(arms)

    def document(self) -> dict[str, Any]:
        """Return everything to store of the request besides the table, as JSON."""
        return {
            "rounds": self.rounds,
            "repetitions": self.repetitions,
            "order": self.order,
            "seed": self.seed,
            "n_rows": len(self.table.predictions),
        }


def check_replay(context: Context, owner_id: str, problem_id: str, request: ReplayRequest) -> CheckedReplay:
    """Check a client's request; raises NotFoundError, InvalidInputError and TooLargeError."""
    with context.database.session(read_only=True) as reading:
        problem = SelectionProblemRepository(reading).get(owner_id, problem_id)
    arms = context.live_problems.arms(problem)
    faults = request.faults
    numbers = _numbers(request, faults)
    predictions, truth = _given_table(context, problem, request, faults)
    table = None
    try:
        Y, y = checked_table(
            arms,
            predictions,
            truth,
            rounds=numbers["rounds"],
            repetitions=numbers["repetitions"] or 1,
            order=request.order if isinstance(request.order, str) and len(request.order) < 50 else "that",
        )
        table = PredictionTable(Y, y)
    except InvalidInputError as error:
        known = {fault.pointer for fault in faults}
        faults += [fault for fault in error.faults if fault.pointer not in known]
    if faults or table is None:
        raise InvalidInputError(faults)
    rounds = numbers["rounds"] or len(table.predictions)
    repetitions, seed = numbers["repetitions"] or 1, numbers["seed"] or 0
    if rounds * repetitions > MAX_STEPS:
        raise TooLargeError(f"{rounds:,} rounds, {repetitions:,} times; {MAX_STEPS:,} are the most of both together")
    return CheckedReplay(problem, table, rounds, repetitions, request.order, seed)


def _numbers(request: ReplayRequest, faults: list[Fault]) -> dict[str, int | None]:
    """Return the whole numbers of a request; invalid ones become None and faults."""
    numbers = {}
    for name, (low, high) in _INTEGERS.items():
        value = getattr(request, name)
        numbers[name] = value if is_integer(value, low, high) else None
        if numbers[name] is None and not (name == "rounds" and value is None):
            faults.append(Fault(f"/{name}", f"must be a whole number from {low} to {high:,}"))
    return numbers


def _given_table(
    context: Context, problem: SelectionProblemRow, request: ReplayRequest, faults: list[Fault]
) -> tuple[Any, Any]:
    """Return predictions and truth as sent, or of the problem's own classifiers; None for what cannot be one."""
    if request.predictions is None and problem.table_sha256 is not None:
        if request.truth is not None:
            faults.append(Fault("/truth", "the truth of the problem's cohort is known: send predictions with another"))
        own = PredictionTable.from_bytes(context.files.get("test_selection_tables", problem.table_sha256))
        return own.predictions, own.truth
    predictions = request.predictions if isinstance(request.predictions, list) else None
    truth = request.truth if isinstance(request.truth, list) else None
    if predictions is None:
        faults.append(Fault("/predictions", "must be a list of a row a patient, 0 or 1 for every arm"))
    if truth is None and request.truth is not None:
        faults.append(Fault("/truth", "must be a list of 0 or 1, one a patient"))
    cells = sum(len(row) if isinstance(row, list) else 1 for row in predictions or ())
    if cells > _MAX_CELLS:
        raise TooLargeError(f"{cells:,} predictions, at most {_MAX_CELLS:,} are allowed")
    return predictions, truth


def run_replay(checked: CheckedReplay) -> ReplayResult:
    """Run a replay while the client waits."""
    problem = problem_from_json(checked.problem.document)
    done = replay(
        problem,
        checked.table.predictions,
        checked.table.truth,
        rounds=checked.rounds,
        repetitions=checked.repetitions,
        order=checked.order,  # type: ignore[arg-type]  # `checked_table` knows the two
        rng=np.random.default_rng(checked.seed),
    )
    return ReplayResult.model_validate(done.to_json(problem.arms))


def queue_replay(context: Context, session: Session, checked: CheckedReplay) -> ReplayDocument:
    """Queue a replay for a runner; raises NotFoundError and QueueFullError."""
    with context.database.session(read_only=True) as reading:
        require_room(context, reading, checked.problem.owner_id)
    table = checked.table.to_bytes()
    check_quota(context, checked.problem.owner_id, {"test_selection_tables": table})
    sha256 = store_file(context.database, context.files, session, "test_selection_tables", table)
    problem = SelectionProblemRepository(session).lock(checked.problem.owner_id, checked.problem.id)
    replays = SelectionReplayRepository(session)
    row = replays.add(problem, document=checked.document(), table_sha256=sha256)
    check_stored(context, session, problem.owner_id)
    return replay_document(row, replays.load_job(row))


def replay_document(row: SelectionReplayRow, job: JobRow, *, whole: bool = True) -> ReplayDocument:
    """Return the document of a replay, without its result in lists."""
    return ReplayDocument(
        **row.document,
        id=row.id,
        problem_id=row.problem_id,
        status=JobStatus(job.status),
        job_id=job.id,
        error=read_error(job),
        result=job.result if whole else None,
        created_at=row.created_at,
    )
