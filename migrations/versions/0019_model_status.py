"""Status of models, its changes, and whether an owner's models predict only once they are approved.

Revision ID: 0019
Revises: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_TABLE = "model_status"
_ID = sa.String(length=32)


def upgrade() -> None:
    op.add_column("owner", sa.Column("approved_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("model", sa.Column("status", sa.String(length=16), nullable=False, server_default="draft"))
    op.create_table(
        _TABLE,
        sa.Column("id", _ID, nullable=False),
        sa.Column("owner_id", _ID, nullable=False),
        sa.Column("model_id", _ID, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("key_id", _ID, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f(f"fk_{_TABLE}_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f(f"fk_{_TABLE}_model_id_model"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
    )
    op.create_index(op.f(f"ix_{_TABLE}_owner_id"), _TABLE, ["owner_id"])
    op.create_index(op.f(f"ix_{_TABLE}_model_id_created_at_id"), _TABLE, ["model_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_table(_TABLE)
    with op.batch_alter_table("model") as table:
        table.drop_column("status")
    with op.batch_alter_table("owner") as table:
        table.drop_column("approved_only")
