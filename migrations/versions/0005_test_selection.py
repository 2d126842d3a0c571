"""Test selection: problems, their rounds, feedback and replays; frontiers; streams of feature selection.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_problem()
    _create_round()
    _create_feedback()
    _create_replay()
    _create_frontier()
    _create_stream()
    _create_selection()


def downgrade() -> None:
    for table in (
        "feature_selection", "feature_stream", "test_frontier", "test_selection_replay", "test_selection_snapshot",
        "test_selection_feedback", "test_selection_round", "test_selection_problem",
    ):  # fmt: skip
        op.drop_table(table)


def _id(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=32), nullable=nullable)


def _sha256(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=64), nullable=nullable)


def _refers(table: str, column: str, to: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=op.f(f"fk_{table}_{column}_{to}"), ondelete=ondelete)


def _create_problem() -> None:
    table = "test_selection_problem"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        _id("cohort_id", nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("training", sa.JSON(), nullable=True),
        _sha256("arms_sha256", nullable=True),
        _sha256("table_sha256", nullable=True),
        sa.Column("n_rounds", sa.Integer(), nullable=False),
        sa.Column("n_feedback", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        _refers(table, "owner_id", "owner"),
        _refers(table, "cohort_id", "cohort", "SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id_created_at_id"), table, ["owner_id", "created_at", "id"])
    for column in ("cohort_id", "arms_sha256", "table_sha256"):
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def _create_round() -> None:
    table = "test_selection_round"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        _id("problem_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("arm", sa.Integer(), nullable=False),
        sa.Column("measurements", sa.JSON(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("outcome", sa.JSON(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("closed_at", _TIME, nullable=True),
        _refers(table, "owner_id", "owner"),
        _refers(table, "problem_id", "test_selection_problem"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id"), table, ["owner_id"])
    op.create_index(op.f(f"ix_{table}_problem_id_created_at_id"), table, ["problem_id", "created_at", "id"])
    op.create_index(op.f(f"ix_{table}_problem_id_number"), table, ["problem_id", "number"], unique=True)


def _create_feedback() -> None:
    table, problem = "test_selection_feedback", "test_selection_problem"
    op.create_table(
        table,
        _id("problem_id"),
        sa.Column("sequence", sa.Integer(), nullable=False, autoincrement=False),
        _id("round_id"),
        sa.Column("arm", sa.Integer(), nullable=False),
        sa.Column("outputs", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        _refers(table, "problem_id", problem),
        _refers(table, "round_id", "test_selection_round"),
        sa.PrimaryKeyConstraint("problem_id", "sequence", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("round_id", name=op.f(f"uq_{table}_round_id")),
    )
    table = "test_selection_snapshot"
    op.create_table(
        table,
        _id("problem_id"),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        _refers(table, "problem_id", problem),
        sa.PrimaryKeyConstraint("problem_id", name=op.f(f"pk_{table}")),
    )


def _create_replay() -> None:
    table = "test_selection_replay"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        _id("problem_id"),
        sa.Column("document", sa.JSON(), nullable=False),
        _sha256("table_sha256"),
        sa.Column("created_at", _TIME, nullable=False),
        _refers(table, "owner_id", "owner"),
        _refers(table, "problem_id", "test_selection_problem"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id"), table, ["owner_id"])
    op.create_index(op.f(f"ix_{table}_problem_id_created_at_id"), table, ["problem_id", "created_at", "id"])
    op.create_index(op.f(f"ix_{table}_table_sha256"), table, ["table_sha256"])


def _create_frontier() -> None:
    table = "test_frontier"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        _id("search_id"),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        _refers(table, "owner_id", "owner"),
        _refers(table, "search_id", "search"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id"), table, ["owner_id"])
    op.create_index(op.f(f"ix_{table}_search_id_created_at_id"), table, ["search_id", "created_at", "id"])


def _create_stream() -> None:
    table = "feature_stream"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        _refers(table, "owner_id", "owner"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id_created_at_id"), table, ["owner_id", "created_at", "id"])


def _create_selection() -> None:
    table = "feature_selection"
    op.create_table(
        table,
        _id("id"),
        _id("owner_id"),
        _id("stream_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("features", sa.JSON(), nullable=False),
        sa.Column("observed", sa.JSON(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("observed_at", _TIME, nullable=True),
        _refers(table, "owner_id", "owner"),
        _refers(table, "stream_id", "feature_stream"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_owner_id"), table, ["owner_id"])
    op.create_index(op.f(f"ix_{table}_stream_id_created_at_id"), table, ["stream_id", "created_at", "id"])
    op.create_index(op.f(f"ix_{table}_stream_id_number"), table, ["stream_id", "number"], unique=True)
