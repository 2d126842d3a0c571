"""Seconds that were worked on a search, in place of those since it was started.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("search") as table:
        table.add_column(sa.Column("spent_s", sa.Double(), nullable=False, server_default="0"))
        table.add_column(sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True))
    moments = [sa.column(name, sa.DateTime(timezone=True)) for name in ("started_at", "finished_at")]
    search = sa.table("search", sa.column("id"), sa.column("spent_s"), *moments)
    connection = op.get_bind()
    # Of one that is running its runner tells with its next sign of life; what was spent before is not known.
    ended = sa.select(search.c.id, *moments).where(search.c.started_at.is_not(None), search.c.finished_at.is_not(None))
    for row in connection.execute(ended).all():
        seconds = max(0.0, (row.finished_at - row.started_at).total_seconds())
        connection.execute(search.update().where(search.c.id == row.id).values(spent_s=seconds))
    with op.batch_alter_table("search") as table:
        table.alter_column("spent_s", existing_type=sa.Double(), existing_nullable=False, server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("search") as table:
        table.drop_column("heard_at")
        table.drop_column("spent_s")
