"""A record of the stored files.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_REFERENCES = (
    ("cohorts", "cohort", "sha256"),
    ("models", "model", "sha256"),
    ("diagnosis_models", "diagnosis_model", "sha256"),
    ("diagnosis_trees", "diagnosis_model", "tree_sha256"),
    ("test_selection_arms", "test_selection_problem", "arms_sha256"),
    ("test_selection_tables", "test_selection_problem", "table_sha256"),
    ("test_selection_tables", "test_selection_replay", "table_sha256"),
)


def upgrade() -> None:
    stored = op.create_table(
        "stored_file",
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("put_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kind", "sha256", name=op.f("pk_stored_file")),
    )
    named = sa.union(*(_named(*reference) for reference in _REFERENCES)).subquery()
    now = sa.literal(datetime.now(UTC), sa.DateTime(timezone=True))
    op.execute(stored.insert().from_select(["kind", "sha256", "put_at"], sa.select(named.c.kind, named.c.sha256, now)))


def _named(kind: str, table: str, column: str) -> sa.Select[tuple[str, str]]:
    sha256 = sa.column(column, sa.String())
    names = sa.select(sa.literal(kind).label("kind"), sha256.label("sha256"))
    return names.select_from(sa.table(table, sha256)).where(sha256.is_not(None))


def downgrade() -> None:
    op.drop_table("stored_file")
