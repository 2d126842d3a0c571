"""The audit trail, to which rows are added and nothing else is done.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_REFUSAL = "the audit trail is added to and never changed"
_SQLITE = [
    f"CREATE TRIGGER audit_event_no_{what} BEFORE {what.upper()} ON audit_event "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
    for what in ("update", "delete")
]
_POSTGRESQL = [
    f"""CREATE FUNCTION audit_event_refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$""",
    """CREATE TRIGGER audit_event_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION audit_event_refuse()""",
]


def upgrade() -> None:
    op.create_table(
        "audit_event",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("owner_id", sa.String(32), nullable=True),
        sa.Column("key_id", sa.String(32), nullable=True),
        sa.Column("action", sa.String(200), nullable=False),
        sa.Column("resource", sa.String(200), nullable=False),
        sa.Column("address", sa.String(100), nullable=False),
        sa.Column("result", sa.String(40), nullable=False),
        sa.Column("request_id", sa.String(32), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_audit_event")),
    )
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit_event")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_event_refuse()")
