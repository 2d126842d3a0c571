"""Validations of models in other cohorts.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "validation",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("cohort_id", sa.String(length=32), nullable=True),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_validation_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f("fk_validation_model_id_model"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohort.id"], name=op.f("fk_validation_cohort_id_cohort"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_validation")),
    )
    op.create_index(op.f("ix_validation_cohort_id"), "validation", ["cohort_id"])
    op.create_index(op.f("ix_validation_model_id_created_at_id"), "validation", ["model_id", "created_at", "id"])
    op.create_index(op.f("ix_validation_owner_id"), "validation", ["owner_id"])


def downgrade() -> None:
    op.drop_table("validation")
