"""Keys know the person who has made them, so that they end with her access.

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_TABLE = "api_key"
_INDEX = "ix_api_key_made_by"


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column("made_by", sa.String(length=32), nullable=True))
    op.create_index(_INDEX, _TABLE, ["made_by"])


def downgrade() -> None:
    op.drop_index(_INDEX, _TABLE)
    with op.batch_alter_table(_TABLE) as table:
        table.drop_column("made_by")
