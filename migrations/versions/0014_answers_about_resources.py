"""Which resource a kept answer tells of, and how long the request that is to give it is known to run.

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("idempotency_key") as table:
        table.add_column(sa.Column("subject_id", sa.String(32), nullable=True))
        table.add_column(sa.Column("attempt", sa.String(32), nullable=True))
        table.add_column(sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("idempotency_key") as table:
        table.drop_column("lease_until")
        table.drop_column("attempt")
        table.drop_column("subject_id")
