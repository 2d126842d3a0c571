"""Searches that go on from where another one stood.

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("search") as table:
        table.add_column(sa.Column("continues_id", sa.String(32), nullable=True))
        table.add_column(sa.Column("inherited_batches", sa.Integer(), nullable=False, server_default="0"))
        table.create_foreign_key(
            "fk_search_continues_id_search", "search", ["continues_id"], ["id"], ondelete="SET NULL"
        )
        table.create_index("ix_search_continues_id", ["continues_id"])
    with op.batch_alter_table("search") as table:
        table.alter_column(
            "inherited_batches", existing_type=sa.Integer(), existing_nullable=False, server_default=None
        )


def downgrade() -> None:
    with op.batch_alter_table("search") as table:
        table.drop_index("ix_search_continues_id")
        table.drop_constraint("fk_search_continues_id_search", type_="foreignkey")
        table.drop_column("inherited_batches")
        table.drop_column("continues_id")
