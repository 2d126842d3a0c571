"""Where a search begins when its owner has searched before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from autoprog.cohort import Cohort, to_parquet
from autoprog.metalearning import shipped_statistics
from autoprog.optimizer import Start
from autoprog.search import warm_start
from autoprog.search.runner import Runner
from autoprog.space import Space, TableShape
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import CohortRepository, KeyRepository
from autoprog.storage.tables import CohortRow, CohortStatisticsRow
from autoprog.work import CallStatus
from tests.cohorts import cleveland_cohort
from tests.search.inline import InlineDispatcher
from tests.search.test_runner import FAST, FastBench


@pytest.fixture
def bench(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FastBench:
    """Where no open cohorts are shipped."""
    monkeypatch.setattr("autoprog.metalearning.shipped.open_cohorts", tuple)
    return FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())


def other_cohort() -> Cohort:
    cohort = cleveland_cohort()
    return replace(cohort.take(np.arange(300)), name="another ward")


def move_to(bench: FastBench, cohort: Cohort, owner: str = "tester", **spec: Any) -> None:
    """Let the bench queue its searches on another cohort, perhaps of another owner."""
    sha256 = bench.files.put("cohorts", to_parquet(cohort))
    with bench.database.session() as session:
        bench.owner = KeyRepository(session).ensure_owner(owner).id
        row = CohortRepository(session).add(
            bench.owner, name="c", sha256=sha256, n_patients=cohort.n_patients, spec=spec, document={}
        )
        bench.cohort = row.id


def start_of(bench: FastBench, **settings: Any) -> Start | None:
    """Run a search, and see where it began."""
    search_id = bench.queue(**settings)
    assert bench.runner(InlineDispatcher()).run_one()
    document = bench.search(search_id).start
    return None if document is None else Start.from_json(document)


def test_the_first_search_begins_with_nothing_and_the_second_with_what_it_taught(bench: FastBench) -> None:
    assert start_of(bench) == Start()
    move_to(bench, other_cohort())
    search_id = bench.queue()
    started: list[Start] = []

    def note(_: int) -> None:
        document = bench.search(search_id).start
        assert document is not None
        started.append(Start.from_json(document))

    assert bench.runner(InlineDispatcher(before=note)).run_one()
    start = started[0]
    assert start.n_cohorts == 1
    assert 0 < start.trust <= 0.5  # one cohort counts no more than what is believed without
    assert 1 <= len(start.portfolio) <= 4
    assert {key.split("/")[0] for key in start.offsets} == {"imputation", "features", "prediction", "calibration"}
    proposed = [e[2] for e in bench.evaluations(search_id)]
    after_simple = [c.to_json() for c in start.portfolio if c.to_json() != proposed[0]]
    assert proposed[1 : 1 + len(after_simple)] == after_simple
    # The first cohort may be deleted: what is left of it are pipelines that this search has evaluated.
    evaluated = tuple(c for c in start.portfolio if c.to_json() in proposed)
    assert evaluated
    left = Start(evaluated, trust=start.trust, n_cohorts=start.n_cohorts)
    assert bench.search(search_id).start == left.to_json()


def test_the_first_search_begins_with_what_open_cohorts_taught(database: Database, tmp_path: Path) -> None:
    bench = FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())
    start = start_of(bench)
    assert start is not None
    shipped = shipped_statistics([feature.name for feature in cleveland_cohort().features])
    assert start.n_cohorts == sum(s.mode == "classification" for s in shipped) > 0
    assert start.portfolio
    assert start_of(bench, metric="brier") == Start()  # nothing was learnt by that measure
    assert start_of(bench, warm_start=False) is None


def test_a_cohort_is_no_evidence_on_itself(bench: FastBench) -> None:
    assert start_of(bench) == Start()
    assert start_of(bench, seed=1) == Start()


def test_a_client_may_begin_cold(bench: FastBench) -> None:
    start_of(bench)
    move_to(bench, other_cohort())
    assert start_of(bench, warm_start=False) is None


def test_net_benefit_is_learnt_from_searches_over_the_same_thresholds(bench: FastBench) -> None:
    start_of(bench, metric="net_benefit", thresholds=(0.05, 0.2))
    move_to(bench, other_cohort())
    for thresholds, n_cohorts in (((0.4, 0.6), 0), ((0.05, 0.2), 1)):
        start = start_of(bench, metric="net_benefit", thresholds=thresholds)
        assert start is not None
        assert start.n_cohorts == n_cohorts


@pytest.mark.parametrize("shared", [True, False])
def test_another_owner_learns_from_what_is_shared_alone(bench: FastBench, shared: bool) -> None:
    move_to(bench, cleveland_cohort(), owner="sharer", share_statistics=shared)
    start_of(bench)
    move_to(bench, other_cohort(), owner="stranger")
    start = start_of(bench)
    assert start is not None
    assert start.n_cohorts == int(shared)


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_cohort_passes_nothing_on_from_one_that_is_not(bench: FastBench, shared: bool) -> None:
    """What did well on the one is evaluated on the other, and would be among its best."""
    move_to(bench, cleveland_cohort(), share_statistics=shared)
    start_of(bench)
    move_to(bench, other_cohort(), share_statistics=True)
    start = start_of(bench)
    assert start is not None
    assert start.n_cohorts == int(shared)
    with bench.database.session(read_only=True) as session:
        taught = session.get_one(CohortStatisticsRow, (bench.cohort, "auc_roc")).document
    assert bool(taught["elsewhere"]) == shared


def test_what_was_taught_goes_with_the_cohort(bench: FastBench) -> None:
    start_of(bench)
    with bench.database.session() as session:
        session.delete(session.get_one(CohortRow, bench.cohort))
    move_to(bench, other_cohort())
    assert start_of(bench) == Start()


def test_a_search_that_was_left_begins_where_it_began(bench: FastBench) -> None:
    """Another cohort's statistics become known meanwhile; the search that goes on does not hear of them."""
    move_to(bench, cleveland_cohort(), owner="sharer")
    start_of(bench)
    move_to(bench, other_cohort(), owner="stranger")
    search_id = bench.queue()
    runner: Runner

    def leave(call: int) -> CallStatus | None:
        if call == 3:
            runner.stop()
        return None

    runner = bench.runner(InlineDispatcher(before=leave))
    assert not runner.run_one()
    assert bench.search(search_id).start == Start().to_json()
    with bench.database.session() as session:
        session.execute(update(CohortStatisticsRow).values(shared=True))
    assert bench.runner(InlineDispatcher(), "two").run_one()
    assert bench.search(search_id).status == "succeeded"
    assert bench.search(search_id).start == Start().to_json()
    assert start_of(bench) != Start()


def test_a_path_of_the_portfolio_does_not_end_the_search(bench: FastBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for at its bound, evaluated at the chosen setting, and was then all that was proposed."""
    only = {"imputation": ["median"], "features": ["none"], "calibration": ["none"]}
    space = Space.subset({**only, "prediction": ["penalised_logistic"]})
    (kind,) = space.valid_kinds(TableShape(200, 13, 90, has_missing=True))
    start = Start((space.whole_path(space.default(kind)),), trust=0.5, n_cohorts=5)
    names = {**FAST, "prediction": ["penalised_logistic", "gaussian_nb"]}
    monkeypatch.setattr(warm_start, "_load_start", lambda *_: start)
    search_id = bench.queue(space=names, opening=False, batch_size=1, budget={"evaluations": 8, "time_s": 600})
    assert bench.runner(InlineDispatcher()).run_one()
    assert len(bench.evaluations(search_id)) == 8
