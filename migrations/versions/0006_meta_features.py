"""Statistics of finished searches.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cohort_statistics",
        sa.Column("cohort_id", sa.String(length=32), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("n_evaluations", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohort.id"], name=op.f("fk_cohort_statistics_cohort_id_cohort"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_cohort_statistics_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cohort_id", "metric", name=op.f("pk_cohort_statistics")),
    )
    op.create_index(op.f("ix_cohort_statistics_owner_id"), "cohort_statistics", ["owner_id"])


def downgrade() -> None:
    op.drop_table("cohort_statistics")
