"""How many patients an evaluation was made on.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluation", sa.Column("n_patients", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("evaluation") as table:
        table.drop_column("n_patients")
