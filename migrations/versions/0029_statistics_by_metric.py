"""An index tells which cohorts have statistics of a metric, so that their long documents need not be read.

Revision ID: 0029
Revises: 0028
"""

from __future__ import annotations

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_TABLE = "cohort_statistics"
_INDEX = "ix_cohort_statistics_metric_cohort_id_created_at"


def upgrade() -> None:
    op.create_index(_INDEX, _TABLE, ["metric", "cohort_id", "created_at"])


def downgrade() -> None:
    op.drop_index(_INDEX, _TABLE)
