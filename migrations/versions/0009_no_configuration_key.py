"""No digest of an evaluation's configuration, which nobody asked for.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("evaluation") as table:
        table.drop_column("config_key")


def downgrade() -> None:
    op.add_column("evaluation", sa.Column("config_key", sa.String(length=16), nullable=True))
    names = ("search_id", "number", "config_key")
    table = sa.table("evaluation", *(sa.column(name) for name in names), sa.column("configuration", sa.JSON()))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table)).all():
        text = json.dumps(row.configuration, sort_keys=True, separators=(",", ":"))
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        here = (table.c.search_id == row.search_id) & (table.c.number == row.number)
        connection.execute(table.update().where(here).values(config_key=key))
    with op.batch_alter_table("evaluation") as altered:
        altered.alter_column("config_key", existing_type=sa.String(length=16), nullable=False)
