"""The tables: everything that outlives a process, each row under an owner.

Files (cohorts, models) lie outside the database under their SHA-256; see `autoprog.storage.files`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column
from sqlalchemy.types import TypeDecorator

from autoprog.storage.files import Kind

Document = dict[str, Any]

_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class SearchStatus(StrEnum):
    """Where a search stands."""

    QUEUED = "queued"
    RUNNING = "running"  # held by a runner while its lease lasts, free to be taken over afterwards
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobStatus(StrEnum):
    """Where a job beside the searches stands."""

    QUEUED = "queued"
    RUNNING = "running"  # as for a search
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; aware in Python, without a zone where the database knows none (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn a moment of any zone into what the column holds."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn what the column holds into a moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Root of the tables; says how Python's types are stored."""

    metadata = MetaData(naming_convention=_NAMING)
    # JSON rather than JSONB: a document keeps the order of its keys, and 1.0 stays apart from 1.
    type_annotation_map = {  # noqa: RUF012 (read once by SQLAlchemy)
        datetime: UtcDateTime(),
        Document: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
        list[float]: JSON(none_as_null=True),
        bytes: LargeBinary(),
        str: Text(),
    }


class OwnedRow(Base):
    """A row of a resource of its own, which belongs to an owner and is listed by age."""

    __abstract__ = True

    id: Mapped[str]
    owner_id: Mapped[str]
    created_at: Mapped[datetime]


_ID = String(32)
_SHA256 = String(64)
_SHORT = String(16)


class OwnerRow(Base):
    """Someone whom resources belong to."""

    __tablename__ = "owner"

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[datetime]
    served_at: Mapped[datetime | None]  # when a runner last took a search or a job of this owner


class ApiKeyRow(Base):
    """A bearer key; only the digest of its secret is kept."""

    __tablename__ = "api_key"

    id: Mapped[str] = mapped_column(_ID, primary_key=True)  # the part of the key that may be shown
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    secret_sha256: Mapped[str] = mapped_column(_SHA256)
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]  # to the hour


class CohortRow(OwnedRow):
    """A stored cohort; its patients lie in the Parquet file `sha256`."""

    __tablename__ = "cohort"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    sha256: Mapped[str] = mapped_column(_SHA256, index=True)
    n_patients: Mapped[int]
    spec: Mapped[Document]
    document: Mapped[Document]  # what the API shows beside `id` and `created_at`


class CohortStatisticsRow(Base):
    """What the best-founded search on a cohort leaves to later ones, by metric; deleted with the cohort."""

    __tablename__ = "cohort_statistics"

    cohort_id: Mapped[str] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="CASCADE"), primary_key=True)
    metric: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    shared: Mapped[bool]  # whether other owners may learn from it
    n_evaluations: Mapped[int]
    document: Mapped[Document]  # `CohortStatistics` as JSON
    created_at: Mapped[datetime]


class ModelRow(OwnedRow):
    """A fitted model; its bytes lie in the file `sha256`. It outlives its search and, where asked, its cohort."""

    __tablename__ = "model"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    search_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("search.id", ondelete="SET NULL"), index=True)
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    version: Mapped[int]
    parent_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("model.id", ondelete="SET NULL"), index=True)
    sha256: Mapped[str] = mapped_column(_SHA256, index=True)
    document: Mapped[Document]  # features and outcome


class ValidationRow(OwnedRow):
    """What a model was worth in another cohort."""

    __tablename__ = "validation"
    __table_args__ = (Index(None, "model_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("model.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    document: Mapped[Document]  # what was asked and what was found, as the API shows it


class SearchRow(OwnedRow):
    """A search: what was asked, who works on it, and what came of it."""

    __tablename__ = "search"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"), Index(None, "status", "created_at"))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    cohort_id: Mapped[str] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="CASCADE"), index=True)
    settings: Mapped[Document]
    status: Mapped[str] = mapped_column(_SHORT)
    phase: Mapped[str | None] = mapped_column(_SHORT)
    token: Mapped[int] = mapped_column(default=0)  # fencing token: grows with every claim
    runner_id: Mapped[str | None] = mapped_column(String(200))
    lease_until: Mapped[datetime | None]
    losses: Mapped[int] = mapped_column(default=0)  # leases that ran out since the last evaluation was written
    spent_s: Mapped[float] = mapped_column(default=0.0)  # of the budget, until `heard_at`; see `storage.spending`
    heard_at: Mapped[datetime | None]  # the last sign of life of whoever worked on it
    cancel_requested_at: Mapped[datetime | None]
    warnings: Mapped[list[str]]
    start: Mapped[Document | None]  # what earlier cohorts had taught when it began; after its end, what is shown of it
    error: Mapped[Document | None]  # {"code", "detail"}
    ensemble: Mapped[Document | None] = mapped_column(deferred=True)
    rules: Mapped[Document | None] = mapped_column(deferred=True)
    decomposition: Mapped[Document | None] = mapped_column(deferred=True)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    continues_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("search.id", ondelete="SET NULL"), index=True)
    inherited_batches: Mapped[int] = mapped_column(default=0)  # first ones, of the search that it continues
    # Computed, so that `model.search_id` is the one truth and the two tables do not refer to each other in a circle.
    model_id: Mapped[str | None] = column_property(
        select(ModelRow.id)
        .where(ModelRow.search_id == id, ModelRow.parent_id.is_(None))  # noqa: A003 (the column)
        .limit(1)
        .correlate_except(ModelRow)
        .scalar_subquery()
    )


class ProposalRow(Base):
    """A batch of configurations, written before it is evaluated."""

    __tablename__ = "proposal"

    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"), primary_key=True)
    batch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    document: Mapped[Document]


class EvaluationRow(Base):
    """One evaluated configuration; there is one row a number, whoever wrote it first."""

    __tablename__ = "evaluation"

    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    batch: Mapped[int]
    configuration: Mapped[Document]
    status: Mapped[str] = mapped_column(_SHORT)
    score: Mapped[float | None]
    fold_scores: Mapped[list[float]]
    duration_s: Mapped[float]
    reason: Mapped[str | None]
    n_patients: Mapped[int | None]  # that it was evaluated on
    created_at: Mapped[datetime]
    path: Mapped[Document | None]  # what the same fits said of other settings
    out_of_bag: Mapped[bool] = mapped_column(default=False)
    risks: Mapped[bytes | None] = mapped_column(deferred=True)  # a float32 a patient, compressed
    competing: Mapped[bytes | None] = mapped_column(deferred=True)  # the same of the competing causes


class SearchEventRow(Base):
    """Something that a client who follows a search is told; written together with what it tells of."""

    __tablename__ = "search_event"

    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1
    type: Mapped[str] = mapped_column(_SHORT)  # evaluation, phase, finished
    payload: Mapped[Document]


class JobRow(OwnedRow):
    """Work that takes longer than a request, for a resource that tells of it; deleting that resource deletes it."""

    __tablename__ = "job"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"), Index(None, "status", "created_at"))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(_ID)
    subject_id: Mapped[str] = mapped_column(_ID, index=True)  # the resource, of whatever table
    payload: Mapped[Document]  # what the work is to do: parameters, and the files that it reads
    status: Mapped[str] = mapped_column(_SHORT)
    token: Mapped[int] = mapped_column(default=0)  # fencing token: grows with every claim
    runner_id: Mapped[str | None] = mapped_column(String(200))
    lease_until: Mapped[datetime | None]
    losses: Mapped[int] = mapped_column(default=0)  # leases that ran out
    error: Mapped[Document | None]  # {"code", "detail"}
    result: Mapped[Document | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class DiagnosisModelRow(OwnedRow):
    """Objects, queries and responses, which lie in the file `sha256`, and the tree once it is built."""

    __tablename__ = "diagnosis_model"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    name: Mapped[str]
    sha256: Mapped[str] = mapped_column(_SHA256, index=True)
    tree_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)
    document: Mapped[Document]  # what the API shows beside the columns
    tree: Mapped[Document | None]  # costs and sizes of the tree


class DiagnosisSessionRow(OwnedRow):
    """The questions put about one patient, and the answers."""

    __tablename__ = "diagnosis_session"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("diagnosis_model.id", ondelete="CASCADE"), index=True)
    state: Mapped[Document]  # the answers so far, and what else the session was opened with
    version: Mapped[int] = mapped_column(default=1)  # grows with every change: of two changes at once one is refused
    changed_at: Mapped[datetime]


class DiagnosisLearnerRow(OwnedRow):
    """What labelled cases have taught of which disease shows which finding."""

    __tablename__ = "diagnosis_learner"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    seed: Mapped[int] = mapped_column(BigInteger())
    n_cases: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)  # as of a session
    document: Mapped[Document]  # what the API shows beside the columns
    state: Mapped[Document] = mapped_column(deferred=True)  # all that was learnt
    changed_at: Mapped[datetime]


class StoredFileRow(Base):
    """A file that may lie in the storage; see `autoprog.storage.stored_files`. It belongs to whoever refers to it."""

    __tablename__ = "stored_file"

    kind: Mapped[Kind] = mapped_column(_ID, primary_key=True)
    sha256: Mapped[str] = mapped_column(_SHA256, primary_key=True)
    put_at: Mapped[datetime]  # when it was last stored, or freed


class AuditEventRow(Base):
    """Something that was done, or refused; see `autoprog.storage.repositories.audit`. The database refuses changes."""

    __tablename__ = "audit_event"

    sequence: Mapped[int] = mapped_column(BigInteger(), primary_key=True, autoincrement=False)  # from 1
    at: Mapped[datetime]
    owner_id: Mapped[str | None] = mapped_column(_ID)  # no reference: it outlives the owner
    key_id: Mapped[str | None] = mapped_column(_ID)
    action: Mapped[str] = mapped_column(String(200))
    resource: Mapped[str] = mapped_column(String(200))
    address: Mapped[str] = mapped_column(String(100))
    result: Mapped[str] = mapped_column(String(40))
    request_id: Mapped[str] = mapped_column(_ID)
    sha256: Mapped[str] = mapped_column(_SHA256)  # of this event and of all before it


class IdempotencyKeyRow(Base):
    """The first answer to a POST that carried an `Idempotency-Key`; without a status while it is still running."""

    __tablename__ = "idempotency_key"

    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), primary_key=True)
    route: Mapped[str] = mapped_column(String(200), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(_SHA256)
    attempt: Mapped[str | None] = mapped_column(_ID)  # which of the requests that were sent with the key works on it
    lease_until: Mapped[datetime | None]  # while it works: when it is to be taken for dead
    subject_id: Mapped[str | None] = mapped_column(_ID)  # the resource that the answer tells of, of whatever table
    status: Mapped[int | None]
    headers: Mapped[Document | None]
    body: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(index=True)
