"""Scores of the other settings of an evaluation, and whether it was scored out of bag.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluation", sa.Column("path", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("evaluation", sa.Column("out_of_bag", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("evaluation") as table:
        table.alter_column("out_of_bag", existing_type=sa.Boolean(), existing_nullable=False, server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("evaluation") as table:
        table.drop_column("out_of_bag")
        table.drop_column("path")
