"""The tables: everything that outlives a process, each row with an owner.

Files (cohorts, models) are stored outside the database under their SHA-256; see `autoprog.storage.files`.
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
    false,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column
from sqlalchemy.types import TypeDecorator

from autoprog.storage.files import Kind

Document = dict[str, Any]

MAX_ROUTE = 200
"""Longest route with which an `Idempotency-Key` is stored."""

_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class SearchStatus(StrEnum):
    """Status of a search."""

    QUEUED = "queued"
    RUNNING = "running"  # held by a runner during its lease, free for another afterwards
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobStatus(StrEnum):
    """Status of a job other than a search."""

    QUEUED = "queued"
    RUNNING = "running"  # as for a search
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC: aware in Python, without a zone in SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time of any zone to the column's value."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert the column's value to a time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Base class of the tables; maps Python's types to columns."""

    metadata = MetaData(naming_convention=_NAMING)
    # JSON rather than JSONB keeps the order of a document's keys, and 1.0 distinct from 1.
    type_annotation_map = {  # noqa: RUF012 (read once by SQLAlchemy)
        datetime: UtcDateTime(),
        Document: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
        list[float]: JSON(none_as_null=True),
        bytes: LargeBinary(),
        str: Text(),
    }


class OwnedRow(Base):
    """A resource that belongs to an owner and is listed by age."""

    __abstract__ = True

    id: Mapped[str]
    owner_id: Mapped[str]
    created_at: Mapped[datetime]


MAX_OWNER_NAME = 200
"""Most characters of an owner's name."""

_ID = String(32)
_SHA256 = String(64)
_SHORT = String(16)


class OwnerRow(Base):
    """An owner of resources."""

    __tablename__ = "owner"

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    name: Mapped[str] = mapped_column(String(MAX_OWNER_NAME), unique=True)
    created_at: Mapped[datetime]
    served_at: Mapped[datetime | None]  # when a runner last took a search or a job of this owner
    approved_only: Mapped[bool] = mapped_column(default=False, server_default=false())  # which models may predict


class ApiKeyRow(Base):
    """An API key, of which only the digest of its secret is stored; or a person of the identity provider."""

    __tablename__ = "api_key"
    __table_args__ = (Index(None, "subject_sha256", unique=True),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)  # the public part of the key
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    secret_sha256: Mapped[str] = mapped_column(_SHA256)
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]  # to the hour
    # Null for keys; for people a digest of issuer, subject and owner, and the name that the provider gives.
    subject_sha256: Mapped[str | None] = mapped_column(_SHA256)
    person: Mapped[str | None] = mapped_column(String(200))
    made_by: Mapped[str | None] = mapped_column(_ID, index=True)  # the person who has made this key on a page
    replaces: Mapped[str | None] = mapped_column(_ID, index=True)  # the key in whose place this one was made


class BrowserSessionRow(Base):
    """A person who has logged in with a key; only the digest of the cookie's token is stored."""

    __tablename__ = "browser_session"

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    token_sha256: Mapped[str] = mapped_column(_SHA256, unique=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    key_id: Mapped[str] = mapped_column(_ID, ForeignKey("api_key.id", ondelete="CASCADE"), index=True)
    csrf_token: Mapped[str] = mapped_column(_SHA256)
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]  # to a few minutes
    expires_at: Mapped[datetime] = mapped_column(index=True)


class CohortRow(OwnedRow):
    """A stored cohort; its patients are in the Parquet file `sha256`, which the erasure of a patient replaces."""

    __tablename__ = "cohort"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    sha256: Mapped[str] = mapped_column(_SHA256, index=True)
    identifiers_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)  # of the file of digests
    n_patients: Mapped[int]
    spec: Mapped[Document]
    document: Mapped[Document]  # shown by the API besides `id` and `created_at`


class CohortStatisticsRow(Base):
    """Statistics that the best-founded search on a cohort leaves to later ones, by metric."""

    __tablename__ = "cohort_statistics"
    __table_args__ = (Index(None, "metric", "cohort_id", "created_at"),)

    cohort_id: Mapped[str] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="CASCADE"), primary_key=True)
    metric: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    shared: Mapped[bool]  # whether other owners may learn from it
    n_evaluations: Mapped[int]
    document: Mapped[Document]  # `CohortStatistics` as JSON
    created_at: Mapped[datetime]


class ModelRow(OwnedRow):
    """A fitted model in the file `sha256`; it outlives its search and, if so requested, its cohort."""

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
    status: Mapped[str] = mapped_column(_SHORT, default="draft", server_default="draft")  # or approved, or retired
    patients_erased: Mapped[int] = mapped_column(default=0, server_default="0")  # of those it was fitted on


class ModelCohortRow(Base):
    """A cohort that a model, or an earlier version of it, was fitted on or updated to."""

    __tablename__ = "model_cohort"

    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    cohort_id: Mapped[str] = mapped_column(_ID, primary_key=True, index=True)  # no reference: it outlives the cohort


class ModelStatusRow(OwnedRow):
    """A change of a model's status."""

    __tablename__ = "model_status"
    __table_args__ = (Index(None, "model_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("model.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(_SHORT)
    note: Mapped[str | None]
    key_id: Mapped[str | None] = mapped_column(_ID)  # of the caller; none on a local server without keys


class ValidationRow(OwnedRow):
    """External validation of a model in another cohort."""

    __tablename__ = "validation"
    __table_args__ = (Index(None, "model_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("model.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    document: Mapped[Document]  # request and result, as shown by the API


class SearchRow(OwnedRow):
    """A search: its request, its runner and its result."""

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
    losses: Mapped[int] = mapped_column(default=0)  # leases that ran out since the last evaluation
    spent_s: Mapped[float] = mapped_column(default=0.0)  # budget spent up to `heard_at`; see `storage.leases`
    heard_at: Mapped[datetime | None]  # last sign of life of its runner
    cancel_requested_at: Mapped[datetime | None]
    warnings: Mapped[list[str]]
    start: Mapped[Document | None]  # learnt from earlier cohorts; after the end, only what is shown of it
    error: Mapped[Document | None]  # {"code", "detail"}
    ensemble: Mapped[Document | None] = mapped_column(deferred=True)
    rules: Mapped[Document | None] = mapped_column(deferred=True)
    decomposition: Mapped[Document | None] = mapped_column(deferred=True)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    continues_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("search.id", ondelete="SET NULL"), index=True)
    inherited_batches: Mapped[int] = mapped_column(default=0)  # copied from the search that it continues
    # Computed from `model.search_id`, so that the two tables do not refer to each other in a circle.
    model_id: Mapped[str | None] = column_property(
        select(ModelRow.id)
        .where(ModelRow.search_id == id, ModelRow.version == 1)  # noqa: A003 (the column)
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
    """One evaluated configuration; the first row written for a number stays."""

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
    n_patients: Mapped[int | None]  # patients in the evaluation
    created_at: Mapped[datetime]
    path: Mapped[Document | None]  # results of the same fits for other settings
    out_of_bag: Mapped[bool] = mapped_column(default=False)
    risks: Mapped[bytes | None] = mapped_column(deferred=True)  # one float32 per patient, compressed
    competing: Mapped[bytes | None] = mapped_column(deferred=True)  # likewise, for the competing causes


class SearchEventRow(Base):
    """An event for clients who follow a search, written together with the change that it reports."""

    __tablename__ = "search_event"

    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1
    type: Mapped[str] = mapped_column(_SHORT)  # evaluation, phase, finished
    payload: Mapped[Document]


class JobRow(OwnedRow):
    """Work that takes longer than a request; it is deleted with the resource that it is about."""

    __tablename__ = "job"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"), Index(None, "status", "created_at"))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(_ID)
    subject_id: Mapped[str] = mapped_column(_ID, index=True)  # the resource, of any table
    payload: Mapped[Document]  # parameters, and the files that the job reads
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
    """Objects, queries and responses in the file `sha256`, and the tree once it is built."""

    __tablename__ = "diagnosis_model"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    name: Mapped[str]
    sha256: Mapped[str] = mapped_column(_SHA256, index=True)
    tree_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)
    document: Mapped[Document]  # shown by the API besides the columns
    tree: Mapped[Document | None]  # costs and sizes of the tree
    patients_erased: Mapped[int] = mapped_column(default=0, server_default="0")  # of those in its cohort


class DiagnosisSessionRow(OwnedRow):
    """Questions about one patient, and the answers."""

    __tablename__ = "diagnosis_session"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    model_id: Mapped[str] = mapped_column(_ID, ForeignKey("diagnosis_model.id", ondelete="CASCADE"), index=True)
    state: Mapped[Document]  # answers, and the parameters that the session was opened with
    version: Mapped[int] = mapped_column(default=1)  # grows with every change: one of two concurrent changes is refused
    changed_at: Mapped[datetime]


class DiagnosisLearnerRow(OwnedRow):
    """Knowledge from labelled cases of which disease shows which finding."""

    __tablename__ = "diagnosis_learner"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    seed: Mapped[int] = mapped_column(BigInteger())
    n_cases: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)  # as for a session
    document: Mapped[Document]  # shown by the API besides the columns
    state: Mapped[Document] = mapped_column(deferred=True)  # everything learnt
    changed_at: Mapped[datetime]


class PatientErasureRow(OwnedRow):
    """What the erasure of one patient removed and left; it holds nothing of the patient."""

    __tablename__ = "patient_erasure"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    document: Mapped[Document]


class StoredFileRow(Base):
    """A file that may exist in the storage (see `stored_files`); it belongs to the rows that refer to it."""

    __tablename__ = "stored_file"

    kind: Mapped[Kind] = mapped_column(_ID, primary_key=True)
    sha256: Mapped[str] = mapped_column(_SHA256, primary_key=True)
    put_at: Mapped[datetime]  # when it was last stored, or freed
    n_bytes: Mapped[int | None] = mapped_column(BigInteger)  # none of files that were stored before this was recorded


class AuditEventRow(Base):
    """An action or a refusal; see `repositories.audit`. The database refuses changes."""

    __tablename__ = "audit_event"
    __table_args__ = (Index(None, "owner_id", "sequence"), Index(None, "key_id", "sequence"))

    sequence: Mapped[int] = mapped_column(BigInteger(), primary_key=True, autoincrement=False)  # from 1
    at: Mapped[datetime]
    owner_id: Mapped[str | None] = mapped_column(_ID)  # no reference: it outlives the owner
    key_id: Mapped[str | None] = mapped_column(_ID)
    action: Mapped[str] = mapped_column(String(200))
    resource: Mapped[str] = mapped_column(String(200))
    address: Mapped[str] = mapped_column(String(100))
    result: Mapped[str] = mapped_column(String(40))
    request_id: Mapped[str] = mapped_column(_ID)
    sha256: Mapped[str] = mapped_column(_SHA256)  # digest of this event and all before it


class IdempotencyKeyRow(Base):
    """The first answer to a POST with an `Idempotency-Key`; `status` is None while the request is running."""

    __tablename__ = "idempotency_key"
    __table_args__ = (Index(None, "owner_id", "subject_id"),)

    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), primary_key=True)
    route: Mapped[str] = mapped_column(String(MAX_ROUTE), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(_SHA256)
    attempt: Mapped[str | None] = mapped_column(_ID)  # the request with this key that is running
    lease_until: Mapped[datetime | None]  # while running: when it is taken for dead
    subject_id: Mapped[str | None] = mapped_column(_ID)  # the resource that the answer is about, of any table
    status: Mapped[int | None]
    headers: Mapped[Document | None]
    body: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(index=True)
