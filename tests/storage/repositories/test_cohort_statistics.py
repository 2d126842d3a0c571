from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from autoprog.metalearning import CohortStatistics, TriedConfiguration, meta_features, shipped_statistics
from autoprog.storage.database import Database
from autoprog.storage.repositories import CohortRepository, CohortStatisticsRepository
from autoprog.storage.repositories.cohort_statistics import KnownPipelines
from autoprog.storage.tables import CohortRow, CohortStatisticsRow
from tests.cohorts import mixed_cohort
from tests.metalearning.repositories import collect_statistics
from tests.storage.support import add_owner, make_configuration

STATISTICS = collect_statistics("to be named", meta_features(mixed_cohort()), [0.01, 0.02])


def add_cohort(session: Session, owner_id: str, sha256: str, *, shared: bool = False) -> CohortRow:
    spec = {"share_statistics": shared}
    return CohortRepository(session).add(
        owner_id, name="c", sha256=sha256 * 64, n_patients=200, spec=spec, document={"name": "c"}
    )


def ids_of(session: Session, owner_id: str, metric: str = "auc_roc", but: str = "-") -> list[str]:
    found = CohortStatisticsRepository(session).earlier(owner_id, metric, but_sha256=but * 64)
    return [earlier.statistics.cohort_id for earlier in found]


def keep(session: Session, cohort: CohortRow, statistics: CohortStatistics = STATISTICS) -> str:
    CohortStatisticsRepository(session).keep(cohort, statistics)
    return cohort.id


def test_statistics_come_back_under_the_cohort_s_identifier(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session, "a")
        cohort_id = keep(session, add_cohort(session, owner_id, "1"))
    with database.session(read_only=True) as session:
        (earlier,) = CohortStatisticsRepository(session).earlier(owner_id, "auc_roc", but_sha256="2" * 64)
    assert earlier.is_own
    assert earlier.statistics == replace(STATISTICS, cohort_id=cohort_id)


def test_another_owner_learns_from_what_is_shared_alone(database: Database) -> None:
    with database.session() as session:
        a, b = add_owner(session, "a"), add_owner(session, "b")
        private = keep(session, add_cohort(session, a, "1"))
        public = keep(session, add_cohort(session, a, "2", shared=True))
    with database.session(read_only=True) as session:
        assert set(ids_of(session, a)) == {private, public}
        assert ids_of(session, b) == [public]
        repository = CohortStatisticsRepository(session)
        for owner in (a, b):
            (earlier,) = repository.earlier(owner, "auc_roc", but_sha256="-" * 64, shared_alone=True)
            assert earlier.statistics.cohort_id == public
        (earlier,) = repository.earlier(b, "auc_roc", but_sha256="-" * 64)
        assert (earlier.is_own, earlier.statistics.shared) == (False, True)


def test_a_cohort_and_its_copies_are_no_evidence_on_themselves(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session, "a")
        keep(session, add_cohort(session, owner_id, "1"))
        keep(session, add_cohort(session, owner_id, "1"))
        other = keep(session, add_cohort(session, owner_id, "2"))
    with database.session(read_only=True) as session:
        assert ids_of(session, owner_id, but="1") == [other]


def test_the_search_with_more_algorithms_and_then_evaluations_speaks_for_a_cohort(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session, "a")
        cohort = add_cohort(session, owner_id, "1")
        of_two = STATISTICS.algorithms[-2:]
        for algorithms, n, score in (
            (of_two, 200, 0.5),
            (STATISTICS.algorithms, 50, 0.7),
            (STATISTICS.algorithms, 20, 0.6),
            (of_two, 300, 0.9),
            (STATISTICS.algorithms, 50, 0.8),
        ):
            keep(session, cohort, replace(STATISTICS, algorithms=algorithms, n_evaluations=n, simple_score=score))
            session.flush()
        keep(session, cohort, replace(STATISTICS, metric="brier", n_evaluations=5))
    with database.session(read_only=True) as session:
        (earlier,) = CohortStatisticsRepository(session).earlier(owner_id, "auc_roc", but_sha256="-" * 64)
        assert (earlier.statistics.n_evaluations, earlier.statistics.simple_score) == (50, 0.8)
        assert len(ids_of(session, owner_id, "brier")) == 1


def test_of_too_many_an_owners_own_come_first_and_then_the_latest(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoprog.storage.repositories.cohort_statistics.MOST", 3)
    with database.session() as session:
        a, b = add_owner(session, "a"), add_owner(session, "b")
        own = [add_cohort(session, a, "1"), add_cohort(session, a, "2")]
        shared = [add_cohort(session, b, digit, shared=True) for digit in "345"]
        for age, cohort in enumerate([shared[1], shared[2], shared[0], *own]):
            keep(session, cohort)
            row = session.get_one(CohortStatisticsRow, (cohort.id, "auc_roc"))
            row.created_at -= timedelta(days=age)
        expected = [cohort.id for cohort in (*own, shared[1])]
    with database.session(read_only=True) as session:
        assert ids_of(session, a) == expected


def test_deleting_a_cohort_deletes_what_it_taught(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session, "a")
        cohort = add_cohort(session, owner_id, "1")
        keep(session, cohort)
        CohortRepository(session).delete(owner_id, cohort.id, models="keep")
    with database.session(read_only=True) as session:
        assert ids_of(session, owner_id) == []


def test_deleting_a_cohort_deletes_what_others_have_found_of_its_pipelines(database: Database) -> None:
    """But not of those that another cohort, or an open one, is known by too."""
    pipelines = [make_configuration(n) for n in range(4)]
    open_pipeline = next(s.best[0].configuration for s in shipped_statistics([]) if s.metric == "auc_roc")
    keys = [*(c.key for c in pipelines), open_pipeline.key]
    with database.session() as session:
        owner_id = add_owner(session, "a")
        gone, other, third = (add_cohort(session, owner_id, digit) for digit in "123")

        def known_by(cohort: CohortRow, *which: int, metric: str = "auc_roc") -> None:
            best = tuple(TriedConfiguration(pipelines[i], 0.1) for i in which)
            keep(session, cohort, replace(STATISTICS, metric=metric, best=best))

        known_by(gone, 0, 1)
        known_by(other, 1)
        known_by(gone, 0, metric="brier")
        known_by(other, 2, metric="brier")
        found = dict.fromkeys(keys, 0.2)
        for metric in ("auc_roc", "brier"):
            keep(session, third, replace(STATISTICS, metric=metric, elsewhere=found))
        assert elsewhere_of(session, third) == [keys[0], keys[1], keys[4]]  # nobody is known by the others any longer
        assert elsewhere_of(session, third, "brier") == [keys[0], keys[2], keys[4]]
        CohortRepository(session).delete(owner_id, gone.id, models="keep")
    with database.session(read_only=True) as session:
        assert elsewhere_of(session, third) == [keys[1], keys[4]]
        assert elsewhere_of(session, third, "brier") == [keys[2], keys[4]]


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and learnt from again"])
def test_what_was_known_before_is_read_anew_once_a_cohort_is_deleted(database: Database, *, again: bool) -> None:
    pipeline = make_configuration(0)
    with database.session() as session:
        owner_id = add_owner(session, "a")
        gone, third = (add_cohort(session, owner_id, digit) for digit in "12")
        keep(session, gone, replace(STATISTICS, best=(TriedConfiguration(pipeline, 0.1),)))
    with database.session(read_only=True) as session:
        known = CohortStatisticsRepository(session).known("auc_roc")
    assert pipeline.key in known.keys
    with database.session() as session:
        repository = CohortStatisticsRepository(session)
        repository.delete_for(gone.id)
        if again:
            repository.keep(gone, replace(STATISTICS, best=()))
        repository.keep(third, replace(STATISTICS, elsewhere={pipeline.key: 0.2}), known)
        assert elsewhere_of(session, third) == []


def test_what_is_known_is_read_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the transaction, which holds SQLite's only writer: thousands of cohorts take seconds to read."""
    pipeline = make_configuration(0)
    with database.session() as session:
        owner_id = add_owner(session, "a")
        keep(
            session, add_cohort(session, owner_id, "1"), replace(STATISTICS, best=(TriedConfiguration(pipeline, 0.1),))
        )
        third = add_cohort(session, owner_id, "2")
    monkeypatch.setattr("autoprog.storage.repositories.cohort_statistics._CHUNK", 1)
    with database.session(read_only=True) as session:
        known = CohortStatisticsRepository(session).known("auc_roc")
    monkeypatch.setattr(CohortStatisticsRepository, "known", None)
    with database.session() as session:
        CohortStatisticsRepository(session).keep(third, replace(STATISTICS, elsewhere={pipeline.key: 0.2}), known)
        assert elsewhere_of(session, third) == [pipeline.key]


def test_two_cohorts_are_deleted_at_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each deletion looks through what the other cohort has taught: one waits for the other, and not both."""
    with database.session() as session:
        owner_id = add_owner(session, "a")
        ids = [keep(session, add_cohort(session, owner_id, digit)) for digit in "123"]
    both, plain = threading.Barrier(2), CohortStatisticsRepository.known

    def meet(repository: CohortStatisticsRepository, metric: str) -> KnownPipelines:
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)
        return plain(repository, metric)

    def deleted(cohort_id: str) -> None:
        with database.session() as session:
            CohortRepository(session).delete(owner_id, cohort_id, models="keep")

    monkeypatch.setattr(CohortStatisticsRepository, "known", meet)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(deleted, ids[:2])) == [None, None]
    with database.session(read_only=True) as session:
        assert ids_of(session, owner_id) == [ids[2]]


def elsewhere_of(session: Session, cohort: CohortRow, metric: str = "auc_roc") -> list[str]:
    session.flush()
    return list(session.get_one(CohortStatisticsRow, (cohort.id, metric)).document["elsewhere"])
