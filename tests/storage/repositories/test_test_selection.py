from __future__ import annotations

import threading

import pytest

from autoprog.errors import ConflictError, LeaseLostError, NotFoundError
from autoprog.jobs import JobKind
from autoprog.jobs.ports import JobResult
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import (
    JobRepository,
    SelectionFeedbackRepository,
    SelectionProblemRepository,
    SelectionReplayRepository,
    SelectionRoundRepository,
)
from autoprog.storage.stored_files import remove_unreferenced
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionRoundRow
from tests.storage.support import add_owner

TRAINING = JobKind.TEST_SELECTION_TRAINING


def add_problem(database: Database) -> SelectionProblemRow:
    with database.session() as session:
        return SelectionProblemRepository(session).add(add_owner(session), name="p", document={"takes": "predictions"})


def open_round(database: Database, problem: SelectionProblemRow, arm: int = 0) -> SelectionRoundRow:
    with database.session() as session:
        counted = SelectionProblemRepository(session).lock_for_round(problem.owner_id, problem.id)
        return SelectionRoundRepository(session).open(counted, arm, None)


def close(database: Database, opened: SelectionRoundRow, cost: float = 1.0) -> None:
    with database.session() as session:
        problem = SelectionProblemRepository(session).lock(opened.owner_id, opened.problem_id)
        rounds = SelectionRoundRepository(session)
        row = rounds.of(opened.owner_id, opened.problem_id, opened.id, lock=True)
        rounds.close(problem, row, outputs=b"\x80", outcome={"predictions": {"1": 1}}, cost=cost)


def test_rounds_opened_at_once_have_numbers_of_their_own(database: Database) -> None:
    problem = add_problem(database)
    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(open_round(database, problem).number)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))


def test_feedback_is_numbered_as_it_comes_and_read_from_a_number_on(database: Database) -> None:
    problem = add_problem(database)
    opened = [open_round(database, problem, arm) for arm in (0, 2, 0)]
    for each in reversed(opened):
        close(database, each, cost=each.arm + 1.0)
    with database.session(read_only=True) as session:
        feedback = SelectionFeedbackRepository(session)
        assert feedback.after(problem.id, 0) == [(1, 0, b"\x80"), (2, 2, b"\x80"), (3, 0, b"\x80")]
        assert [number for number, _, _ in feedback.after(problem.id, 2)] == [3]
        assert feedback.snapshot(problem.id) is None
        tallies = SelectionRoundRepository(session).tallies(problem.id)
    assert (tallies[0].plays, tallies[0].closed, tallies[2].closed_cost) == (2, 2, 3.0)


def test_a_snapshot_only_moves_forward(database: Database) -> None:
    problem = add_problem(database)
    for sequence, content in ((5, b"five"), (9, b"nine"), (7, b"seven")):
        with database.session() as session:
            SelectionProblemRepository(session).lock(problem.owner_id, problem.id)
            SelectionFeedbackRepository(session).keep_snapshot(problem.id, sequence, content)
    with database.session(read_only=True) as session:
        assert SelectionFeedbackRepository(session).snapshot(problem.id) == (9, b"nine")


def test_a_closed_round_stays(database: Database) -> None:
    opened = open_round(database, add_problem(database))
    close(database, opened)
    with pytest.raises(ConflictError), database.session() as session:
        SelectionRoundRepository(session).delete(opened.owner_id, opened.problem_id, opened.id)


@pytest.mark.parametrize("problem_id", ["0" * 32, "x", "\0"])
def test_what_is_not_there(database: Database, problem_id: str) -> None:
    with database.session() as session:
        owner_id = add_owner(session)
    with pytest.raises(NotFoundError, match="test selection problem"), database.session() as session:
        SelectionProblemRepository(session).lock_for_round(owner_id, problem_id)
    with pytest.raises(NotFoundError, match="test selection round"), database.session() as session:
        SelectionRoundRepository(session).of(owner_id, problem_id, problem_id)


def test_a_training_is_handed_over_and_files_go_with_the_last_row(database: Database, files: Files) -> None:
    problem = add_problem(database)
    table = files.put("test_selection_tables", b"a table")
    with database.session() as session:
        row = SelectionProblemRepository(session).lock(problem.owner_id, problem.id)
        JobRepository(session).add(row.owner_id, TRAINING, row.id)
        SelectionReplayRepository(session).add(row, document={"rounds": 1}, table_sha256=table)
    store = DatabaseJobStore(database, files)
    claim = store.claim("runner", 60.0, [TRAINING])
    assert claim is not None
    made = {"test_selection_arms": b"the arms", "test_selection_tables": b"a table"}
    store.finish(claim, JobResult({"notes": []}, made))  # type: ignore[arg-type]
    with database.session(read_only=True) as session:
        trained = SelectionProblemRepository(session).get(problem.owner_id, problem.id)
        (replay,) = SelectionReplayRepository(session).load_page(problem.owner_id, problem.id).items
    assert (trained.training, trained.table_sha256) == ({"notes": []}, table)
    with database.session() as session:
        freed = SelectionReplayRepository(session).delete(problem.owner_id, problem.id, replay.id)
    assert freed == StoredFile("test_selection_tables", table)
    remove_unreferenced(database, files, [freed])
    assert files.has(freed)
    with database.session() as session:
        orphans = SelectionProblemRepository(session).delete(problem.owner_id, problem.id)
    assert {file.kind for file in orphans} == {"test_selection_arms", "test_selection_tables"}
    remove_unreferenced(database, files, orphans)
    assert not any(files.has(file) for file in (freed, *orphans))


def test_a_training_of_a_deleted_problem_is_lost(database: Database, files: Files) -> None:
    problem = add_problem(database)
    with database.session() as session:
        JobRepository(session).add(problem.owner_id, TRAINING, problem.id)
    store = DatabaseJobStore(database, files)
    claim = store.claim("runner", 60.0, [TRAINING])
    assert claim is not None
    with database.session() as session:
        SelectionProblemRepository(session).delete(problem.owner_id, problem.id)
    with pytest.raises(LeaseLostError):
        store.finish(claim, JobResult({}, {"test_selection_arms": b"a", "test_selection_tables": b"b"}))
