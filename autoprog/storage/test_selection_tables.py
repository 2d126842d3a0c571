"""Tables of test selection: catalogues, problems, rounds, replays, frontiers, streams, learners of thresholds."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from autoprog.storage.tables import Base, Document, OwnedRow

_ID = String(32)
_SHA256 = String(64)


class CatalogueRow(OwnedRow):
    """A hospital's diagnostic tests; never changed."""

    __tablename__ = "test_catalogue"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    document: Mapped[Document]  # the tests


class SelectionProblemRow(OwnedRow):
    """A choice of tests to order: the arms, the policy, and its numbers of rounds and feedback."""

    __tablename__ = "test_selection_problem"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    name: Mapped[str]
    document: Mapped[Document]  # structure, algorithm, tests, and the training of classifiers
    training: Mapped[Document | None]  # learnt from the cohort, besides the files
    arms_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)  # classifiers of the arms
    table_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)  # their out-of-sample predictions
    n_rounds: Mapped[int] = mapped_column(default=0)  # number of the last round opened
    n_feedback: Mapped[int] = mapped_column(default=0)  # last sequence number of feedback
    patients_erased: Mapped[int] = mapped_column(default=0, server_default="0")  # of those in its cohort


class SelectionRoundRow(OwnedRow):
    """One patient: the chosen arm, the measurements, the prediction."""

    __tablename__ = "test_selection_round"
    __table_args__ = (Index(None, "problem_id", "created_at", "id"), Index(None, "problem_id", "number", unique=True))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    problem_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1, in order of opening
    arm: Mapped[int]  # from 0
    measurements: Mapped[Document | None]  # received so far; None if predictions are sent
    version: Mapped[int] = mapped_column(default=1)  # grows with every change of the measurements
    cost: Mapped[float]  # cost of the tests done
    outcome: Mapped[Document | None]  # the prediction and its basis; None while the round is open
    closed_at: Mapped[datetime | None]


class SelectionFeedbackRow(Base):
    """Feedback of one round, never changed; numbers are given under the problem's lock."""

    __tablename__ = "test_selection_feedback"

    problem_id: Mapped[str] = mapped_column(
        _ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1, without gaps for readers
    round_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_round.id", ondelete="CASCADE"), unique=True)
    arm: Mapped[int]
    outputs: Mapped[bytes]  # one bit per arm that the chosen one reveals
    created_at: Mapped[datetime]


class SelectionSnapshotRow(Base):
    """Sums over the first rows of feedback, so that not all must be read."""

    __tablename__ = "test_selection_snapshot"

    problem_id: Mapped[str] = mapped_column(
        _ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int]  # the last row included
    counts: Mapped[bytes]


class SelectionReplayRow(OwnedRow):
    """A policy run by a job over a table of predictions; the job's row has the result."""

    __tablename__ = "test_selection_replay"
    __table_args__ = (Index(None, "problem_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    problem_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"))
    document: Mapped[Document]  # rounds, repetitions, order, seed
    table_sha256: Mapped[str] = mapped_column(_SHA256, index=True)


class FrontierRow(OwnedRow):
    """Performance against cost for a search's best pipeline; the job's row has the result."""

    __tablename__ = "test_frontier"
    __table_args__ = (Index(None, "search_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"))
    document: Mapped[Document]  # tests and pipeline


class StatefulRow(OwnedRow):
    """Something that learns from one patient after another, under the lock of its row."""

    __abstract__ = True

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    document: Mapped[Document]  # shown by the API besides the columns
    state: Mapped[Document] = mapped_column(deferred=True)  # everything learnt
    changed_at: Mapped[datetime]


class FeatureStreamRow(StatefulRow):
    """The few features to observe, learnt from one labelled patient after another."""

    __tablename__ = "feature_stream"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)


class ThresholdLearnerRow(StatefulRow):
    """Cut-offs of measurements, learnt from values with known outcomes."""

    __tablename__ = "threshold_learner"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)


class FeatureSelectionRow(OwnedRow):
    """The features to observe in one patient, and the observation."""

    __tablename__ = "feature_selection"
    __table_args__ = (Index(None, "stream_id", "created_at", "id"), Index(None, "stream_id", "number", unique=True))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    stream_id: Mapped[str] = mapped_column(_ID, ForeignKey("feature_stream.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1
    features: Mapped[list[str]]
    observed: Mapped[Document | None]  # digest of the observation, and the answer
    observed_at: Mapped[datetime | None]
