"""What a finished search leaves to later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoprog.metalearning import CohortStatistics, meta_features
from autoprog.search import runner as runner_module
from autoprog.search.runner import Runner
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import CohortStatisticsRepository
from autoprog.storage.tables import SearchRow
from tests.cohorts import cleveland_cohort
from tests.search.inline import InlineDispatcher
from tests.search.test_runner import FastBench


def taught_by(database: Database, search_id: str) -> list[CohortStatistics]:
    """What its owner may learn of an ended search, and all others."""
    with database.session(read_only=True) as session:
        search = session.get_one(SearchRow, search_id)
        assert search.status == "succeeded"
        metric = search.settings["metric"]
        earlier = CohortStatisticsRepository(session).earlier(search.owner_id, metric, but_sha256="")
        return [e.statistics for e in earlier]


def test_a_search_leaves_its_statistics(database: Database, tmp_path: Path) -> None:
    bench = FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())
    search_id = bench.queue()
    assert bench.runner(InlineDispatcher()).run_one()
    with database.session(read_only=True) as session:
        search = session.get_one(SearchRow, search_id)
        (earlier,) = CohortStatisticsRepository(session).earlier(search.owner_id, "auc_roc", but_sha256="")
        statistics = earlier.statistics
        assert statistics.cohort_id == search.cohort_id
    assert statistics.meta_features == meta_features(cleveland_cohort())
    assert statistics.simple_algorithm == "logistic_regression"
    assert 5 <= statistics.n_evaluations <= 14
    simple = next(gain for gain in statistics.algorithms if gain.algorithm == "logistic_regression")
    assert statistics.offsets["prediction/logistic_regression"] == statistics.offsets["imputation/median"] == 0
    assert simple.best >= -1e-12  # the simple pipeline is one of its own
    assert not statistics.shared


def test_a_search_that_was_kept_from_the_simple_model_leaves_nothing(database: Database, tmp_path: Path) -> None:
    """Gains over another model would not compare with those of other cohorts."""
    bench = FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())
    search_id = bench.queue(space={"imputation": ["median"], "features": ["none"], "prediction": ["lda"]})
    assert bench.runner(InlineDispatcher()).run_one()
    assert taught_by(database, search_id) == []


def test_a_runner_that_is_asked_to_end_gives_up_learning(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())
    search_id, runner = bench.queue(), bench.runner(InlineDispatcher())
    learn = runner_module.collect_statistics

    def stopped(*arguments: Any) -> CohortStatistics | None:
        runner.stop()
        return learn(*arguments)

    monkeypatch.setattr(runner_module, "collect_statistics", stopped)
    assert runner.run_one()
    assert taught_by(database, search_id) == []


def test_a_runner_may_leave_learning_out(database: Database, tmp_path: Path) -> None:
    bench = FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())
    search_id = bench.queue()
    assert Runner(bench.store, InlineDispatcher(), runner_id="one", teaches=False).run_one()
    assert taught_by(database, search_id) == []
