"""The tables of test selection: problems, rounds, feedback, replays, frontiers, streams, learners of thresholds."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from autoprog.storage.tables import Base, Document, OwnedRow

_ID = String(32)
_SHA256 = String(64)


class SelectionProblemRow(OwnedRow):
    """Which tests to order: the arms, the policy, and how far its rounds have come."""

    __tablename__ = "test_selection_problem"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    cohort_id: Mapped[str | None] = mapped_column(_ID, ForeignKey("cohort.id", ondelete="SET NULL"), index=True)
    name: Mapped[str]
    document: Mapped[Document]  # structure, algorithm, tests, and how classifiers are trained
    training: Mapped[Document | None]  # what was learnt from the cohort beside the files
    arms_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)  # classifiers of the arms
    table_sha256: Mapped[str | None] = mapped_column(_SHA256, index=True)  # their out-of-sample predictions
    n_rounds: Mapped[int] = mapped_column(default=0)  # opened so far: the last number
    n_feedback: Mapped[int] = mapped_column(default=0)  # rows of feedback: the last sequence number


class SelectionRoundRow(OwnedRow):
    """One patient: the arm that was chosen, what was measured, the prediction."""

    __tablename__ = "test_selection_round"
    __table_args__ = (Index(None, "problem_id", "created_at", "id"), Index(None, "problem_id", "number", unique=True))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    problem_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1, as opened
    arm: Mapped[int]  # from 0
    measurements: Mapped[Document | None]  # as they came so far; None where predictions are sent
    version: Mapped[int] = mapped_column(default=1)  # grows with every change of the measurements
    cost: Mapped[float]  # of the tests that were done
    outcome: Mapped[Document | None]  # the prediction and what it rests on; None while the round is open
    closed_at: Mapped[datetime | None]


class SelectionFeedbackRow(Base):
    """What one round has shown; never changed. A sequence number is given under the lock of the problem's row.

    Whoever sees a number therefore sees all smaller ones.
    """

    __tablename__ = "test_selection_feedback"

    problem_id: Mapped[str] = mapped_column(
        _ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1
    round_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_round.id", ondelete="CASCADE"), unique=True)
    arm: Mapped[int]
    outputs: Mapped[bytes]  # a bit for every arm that the chosen one reveals
    created_at: Mapped[datetime]


class SelectionSnapshotRow(Base):
    """Sums over the first rows of feedback, so that not all of them have to be read."""

    __tablename__ = "test_selection_snapshot"

    problem_id: Mapped[str] = mapped_column(
        _ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int]  # the last row that is in it
    counts: Mapped[bytes]


class SelectionReplayRow(OwnedRow):
    """A policy run over a table of predictions, where that takes a job; its result lies in the job's row."""

    __tablename__ = "test_selection_replay"
    __table_args__ = (Index(None, "problem_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    problem_id: Mapped[str] = mapped_column(_ID, ForeignKey("test_selection_problem.id", ondelete="CASCADE"))
    document: Mapped[Document]  # rounds, repetitions, order, seed
    table_sha256: Mapped[str] = mapped_column(_SHA256, index=True)


class FrontierRow(OwnedRow):
    """Performance against cost for the best pipeline of a search; its result lies in the job's row."""

    __tablename__ = "test_frontier"
    __table_args__ = (Index(None, "search_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    search_id: Mapped[str] = mapped_column(_ID, ForeignKey("search.id", ondelete="CASCADE"))
    document: Mapped[Document]  # the tests, and the pipeline


class StatefulRow(OwnedRow):
    """Something that learns from one patient after another, each under the lock of its row."""

    __abstract__ = True

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"))
    name: Mapped[str]
    document: Mapped[Document]  # what the API shows beside the columns
    state: Mapped[Document] = mapped_column(deferred=True)  # all that was learnt
    changed_at: Mapped[datetime]


class FeatureStreamRow(StatefulRow):
    """Which few features to look at, learnt from labelled patients one after another."""

    __tablename__ = "feature_stream"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)


class ThresholdLearnerRow(StatefulRow):
    """Where to cut measurements, learnt from values with known outcomes."""

    __tablename__ = "threshold_learner"
    __table_args__ = (Index(None, "owner_id", "created_at", "id"),)


class FeatureSelectionRow(OwnedRow):
    """The features to look at in one patient, and what became of it."""

    __tablename__ = "feature_selection"
    __table_args__ = (Index(None, "stream_id", "created_at", "id"), Index(None, "stream_id", "number", unique=True))

    id: Mapped[str] = mapped_column(_ID, primary_key=True)
    owner_id: Mapped[str] = mapped_column(_ID, ForeignKey("owner.id", ondelete="CASCADE"), index=True)
    stream_id: Mapped[str] = mapped_column(_ID, ForeignKey("feature_stream.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1
    features: Mapped[list[str]]
    observed: Mapped[Document | None]  # digest of the observation, and the answer to it
    observed_at: Mapped[datetime | None]
