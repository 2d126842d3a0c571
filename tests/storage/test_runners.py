"""Several processes on one database, some of them killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from autoprog.storage.database import Database
from autoprog.storage.tables import EvaluationRow, ModelRow, SearchEventRow, SearchRow
from tests.conftest import LONG_BACKENDS
from tests.storage.support import queue_searches

ROOT = Path(__file__).parents[2]
SEARCHES, EVALUATIONS = 5, 20
PATIENCE_S = 120.0


class Crew:
    """Runner processes on one database."""

    def __init__(self, database: Database, folder: Path, lease_s: float) -> None:
        self._arguments = [database.url, str(folder / "files"), str(EVALUATIONS), str(lease_s)]
        self._folder = folder
        self._outputs: list[Path] = []
        self.alive: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more, and wait until it is about to claim."""
        output = self._folder / f"runner-{len(self._outputs)}.txt"
        self._outputs.append(output)
        with output.open("wb") as file:
            self.alive.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.storage.fake_runner", *self._arguments],
                    cwd=ROOT,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            )
        wait_for(lambda: output.read_text().startswith("ready\n"))

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        self.alive.remove(process)
        process.kill()
        process.wait()

    def join(self) -> None:
        for process in self.alive:
            assert process.wait(PATIENCE_S) == 0, "\n".join(output.read_text() for output in self._outputs)

    def acknowledged(self) -> list[tuple[str, int]]:
        """Evaluations that a runner has been told are written."""
        lines = [line.split() for output in self._outputs for line in output.read_text().splitlines()]
        return [(words[1], int(words[2])) for words in lines if words[0] == "wrote"]


@contextmanager
def crew_of(n: int, database: Database, folder: Path, lease_s: float) -> Iterator[Crew]:
    crew = Crew(database, folder, lease_s)
    try:
        for _ in range(n):
            crew.start()
        yield crew
    finally:
        for process in tuple(crew.alive):
            crew.kill(process)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def count_evaluations(database: Database) -> int:
    with database.session(read_only=True) as session:
        return session.scalar(select(func.count()).select_from(EvaluationRow)) or 0


def assert_complete(database: Database, ids: list[str]) -> None:
    """Each search has ended once, with each of its evaluations once, written under tokens in order."""
    with database.session(read_only=True) as session:
        for search_id in ids:
            of_search = select(EvaluationRow).where(EvaluationRow.search_id == search_id)
            rows = session.scalars(of_search.order_by(EvaluationRow.number)).all()
            assert [row.number for row in rows] == list(range(EVALUATIONS))
            tokens = [int((row.reason or "").split()[1]) for row in rows]
            assert tokens == sorted(tokens)
            of_events = select(SearchEventRow).where(SearchEventRow.search_id == search_id)
            events = session.scalars(of_events.order_by(SearchEventRow.sequence)).all()
            assert [event.sequence for event in events] == list(range(1, EVALUATIONS + 2))
            assert [event.payload["number"] for event in events[:-1]] == list(range(EVALUATIONS))
            assert events[-1].type == "finished"
            assert session.get_one(SearchRow, search_id).status == "succeeded"
            models = select(func.count()).select_from(ModelRow).where(ModelRow.search_id == search_id)
            assert session.scalar(models) == 1


@pytest.mark.parametrize("backend", LONG_BACKENDS)
def test_two_runners_never_run_the_same_search(database: Database, tmp_path: Path) -> None:
    ids = queue_searches(database, SEARCHES)
    with crew_of(2, database, tmp_path, lease_s=600) as crew:
        crew.join()
        assert len(crew.acknowledged()) == SEARCHES * EVALUATIONS
    assert_complete(database, ids)
    with database.session(read_only=True) as session:
        # A second claim of any search would have raised its token; within a search one process wrote everything.
        assert set(session.scalars(select(SearchRow.token))) == {1}
        writers = session.execute(select(EvaluationRow.search_id, EvaluationRow.reason).distinct()).all()
    assert len(writers) == SEARCHES


@pytest.mark.parametrize("backend", LONG_BACKENDS)
def test_each_evaluation_exists_once_under_four_random_kills(database: Database, tmp_path: Path) -> None:
    ids = queue_searches(database, SEARCHES)
    rng = random.Random()
    with crew_of(2, database, tmp_path, lease_s=1.5) as crew:
        for part in range(4):
            goal = part * 22 + rng.randrange(5, 22)
            wait_for(lambda goal=goal: count_evaluations(database) >= goal)
            crew.kill(rng.choice(crew.alive))
            crew.start()
        crew.join()
        acknowledged = crew.acknowledged()
    assert_complete(database, ids)
    assert len(set(acknowledged)) == len(acknowledged)
