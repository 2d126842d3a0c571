"""Erasure of single patients: digests of identifiers, marks on what was learnt from the erased, records of erasures.

Revision ID: 0023
Revises: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_TABLE = "patient_erasure"
_MARKED = ("model", "diagnosis_model", "test_selection_problem")
_INDEX = "ix_cohort_identifiers_sha256"


def upgrade() -> None:
    op.add_column("cohort", sa.Column("identifiers_sha256", sa.String(length=64), nullable=True))
    op.create_index(_INDEX, "cohort", ["identifiers_sha256"])
    for name in _MARKED:
        op.add_column(name, sa.Column("patients_erased", sa.Integer(), server_default="0", nullable=False))
    op.create_table(
        _TABLE,
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f(f"fk_{_TABLE}_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
    )
    op.create_index(op.f(f"ix_{_TABLE}_owner_id_created_at_id"), _TABLE, ["owner_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_table(_TABLE)
    for name in _MARKED:
        with op.batch_alter_table(name) as table:
            table.drop_column("patients_erased")
    op.drop_index(_INDEX, "cohort")
    with op.batch_alter_table("cohort") as table:
        table.drop_column("identifiers_sha256")
