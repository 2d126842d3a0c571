from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from autoprog.metalearning import CohortStatistics, meta_features
from autoprog.storage.database import Database
from autoprog.storage.repositories import CohortRepository, CohortStatisticsRepository
from autoprog.storage.tables import CohortRow, CohortStatisticsRow
from tests.cohorts import mixed_cohort
from tests.metalearning.repositories import statistics_of
from tests.storage.support import add_owner

STATISTICS = statistics_of("to be named", meta_features(mixed_cohort()), [0.01, 0.02])


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


def test_the_search_with_more_evaluations_speaks_for_a_cohort(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session, "a")
        cohort = add_cohort(session, owner_id, "1")
        for n, score in ((50, 0.7), (20, 0.6), (50, 0.8)):
            keep(session, cohort, replace(STATISTICS, n_evaluations=n, simple_score=score))
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
