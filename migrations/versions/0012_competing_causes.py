"""Risks of the causes that compete with the event of interest.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("evaluation") as table:
        table.add_column(sa.Column("competing", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("evaluation") as table:
        table.drop_column("competing")
