"""Sessions of people who log in with a key, and indices to read an owner's part of the audit trail.

Revision ID: 0021
Revises: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TABLE = "browser_session"
_ID, _SHA256 = sa.String(length=32), sa.String(length=64)


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("id", _ID, nullable=False),
        sa.Column("token_sha256", _SHA256, nullable=False),
        sa.Column("owner_id", _ID, nullable=False),
        sa.Column("key_id", _ID, nullable=False),
        sa.Column("csrf_token", _SHA256, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f(f"fk_{_TABLE}_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["key_id"], ["api_key.id"], name=op.f(f"fk_{_TABLE}_key_id_api_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
        sa.UniqueConstraint("token_sha256", name=op.f(f"uq_{_TABLE}_token_sha256")),
    )
    for column in ("owner_id", "key_id", "expires_at"):
        op.create_index(op.f(f"ix_{_TABLE}_{column}"), _TABLE, [column])
    for column in ("owner_id", "key_id"):
        op.create_index(op.f(f"ix_audit_event_{column}_sequence"), "audit_event", [column, "sequence"])


def downgrade() -> None:
    for column in ("owner_id", "key_id"):
        op.drop_index(op.f(f"ix_audit_event_{column}_sequence"), table_name="audit_event")
    op.drop_table(_TABLE)
