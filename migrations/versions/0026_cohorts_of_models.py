"""Models know all cohorts that they come from, whichever earlier version or search is deleted.

Revision ID: 0026
Revises: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_TABLE = "model_cohort"
_FILL = """
    INSERT INTO model_cohort (model_id, cohort_id)
    WITH RECURSIVE origin (model_id, cohort_id) AS (
        SELECT id, cohort_id FROM model WHERE cohort_id IS NOT NULL
        UNION
        SELECT model.id, search.cohort_id FROM model JOIN search ON search.id = model.search_id
        UNION
        SELECT model.id, origin.cohort_id FROM model JOIN origin ON origin.model_id = model.parent_id
    )
    SELECT model_id, cohort_id FROM origin
"""


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("cohort_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f(f"fk_{_TABLE}_model_id_model"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("model_id", "cohort_id", name=op.f(f"pk_{_TABLE}")),
    )
    op.create_index(op.f(f"ix_{_TABLE}_cohort_id"), _TABLE, ["cohort_id"])
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_table(_TABLE)
