"""What the tests of the storage write: owners, cohorts, searches and what these bring forth."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sqlalchemy import text
from sqlalchemy.orm import Session

from autoprog.cohort import Binary, Feature
from autoprog.evaluation import Evaluation, Status
from autoprog.optimizer import Proposal
from autoprog.search.ports import SearchResult
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Step
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import CohortRepository, KeyRepository, SearchRepository
from autoprog.storage.tables import CohortRow, SearchRow

PATIENTS = b"303 patients"
SHA256 = Files.digest(PATIENTS)
DIED = Binary("died", "1", "0")


@dataclass(frozen=True)
class TinyModel:
    """As much of a prognostic model as the storage sees."""

    content: bytes = b"a model"
    inputs: tuple[Feature, ...] = (Feature("age", "numeric", unit="a"),)
    outcome: Binary = DIED
    horizons: tuple[float, ...] = ()

    def to_bytes(self) -> bytes:
        return self.content


def add_owner(session: Session, name: str = "ward-3") -> str:
    return KeyRepository(session).ensure_owner(name).id


def add_cohort(session: Session, owner_id: str, sha256: str = SHA256) -> CohortRow:
    return CohortRepository(session).add(
        owner_id, name="cleveland", sha256=sha256, n_patients=303, spec={"name": "cleveland"}, document={"n_rows": 303}
    )


def add_search(session: Session, owner_id: str, cohort_id: str, **settings: object) -> SearchRow:
    asked = SearchSettings.model_validate(settings).model_dump(mode="json")
    return SearchRepository(session).add(owner_id, cohort_id, settings=asked)


def queue_searches(database: Database, n: int = 1, **settings: object) -> list[str]:
    """Identifiers of new searches on one new cohort, oldest first; their owner is `ward-3`."""
    with database.session() as session:
        owner_id = add_owner(session)
        cohort = add_cohort(session, owner_id)
        return [add_search(session, owner_id, cohort.id, **settings).id for _ in range(n)]


def make_configuration(n_trees: int = 100) -> Configuration:
    return Configuration(
        Step.of("mice", {"n_imputations": 5}),
        Step.of("none"),
        Step.of("random_forest", {"n_estimators": n_trees, "rate": 1.0, "criterion": "gini", "bootstrap": True}),
        Step.of("sigmoid"),
    )


def make_evaluation(number: int, *, score: float | None = 0.8, status: Status = Status.SUCCEEDED) -> Evaluation:
    if status is not Status.SUCCEEDED:
        return Evaluation(number, number // 4, make_configuration(number + 1), status, reason="after 60 s")
    risks = np.random.default_rng(number).random(303, dtype=np.float32)
    folds = (0.1 + 0.2, 1 / 3, 0.8)
    return Evaluation(number, number // 4, make_configuration(number + 1), status, score, folds, risks, 1.25)


def make_proposal(batch: int) -> Proposal:
    configurations = tuple(make_configuration(batch * 4 + i + 1) for i in range(4))
    return Proposal(batch, configurations, state={"chain": [0.1 + 0.2, 1e-300], "labels": {"b": 1, "a": 1.0}})


def make_result(content: bytes = b"a model") -> SearchResult:
    return SearchResult(
        model=TinyModel(content),  # type: ignore[arg-type]
        ensemble={"members": [{"weight": 1.0}]},
        rules={"rules": [], "note": "of the model"},
        decomposition={"subspaces": []},
        warnings=("few events",),
    )


def wait_until_someone_waits(database: Database) -> None:
    """For a lock; on SQLite whoever writes waits for whoever has begun to write, whatever they do."""
    deadline = time.monotonic() + 60
    while database.url.startswith("postgresql"):
        with database.session(read_only=True) as session:
            if session.scalar(text("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")):
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)
