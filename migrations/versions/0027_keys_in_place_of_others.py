"""A key knows the key in whose place it was made, whose life it has.

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

_TABLE = "api_key"
_INDEX = "ix_api_key_replaces"


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column("replaces", sa.String(length=32), nullable=True))
    op.create_index(_INDEX, _TABLE, ["replaces"])


def downgrade() -> None:
    op.drop_index(_INDEX, _TABLE)
    with op.batch_alter_table(_TABLE) as table:
        table.drop_column("replaces")
