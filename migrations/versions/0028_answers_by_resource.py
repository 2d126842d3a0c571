"""Answers are found by the resource that they are about, so that deleting one need not read all answers.

Revision ID: 0028
Revises: 0027
"""

from __future__ import annotations

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_TABLE = "idempotency_key"
_INDEX = "ix_idempotency_key_owner_id_subject_id"


def upgrade() -> None:
    op.create_index(_INDEX, _TABLE, ["owner_id", "subject_id"])


def downgrade() -> None:
    op.drop_index(_INDEX, _TABLE)
