"""When a key ends, and when it was last used.

Revision ID: 0017
Revises: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("expires_at", "used_at"):
        op.add_column("api_key", sa.Column(name, sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("api_key") as table:
        for name in ("used_at", "expires_at"):
            table.drop_column(name)
