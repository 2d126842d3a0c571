"""Single sign-on: people of an identity provider beside keys, and the scope of administrators.

Revision ID: 0024
Revises: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_TABLE = "api_key"
_INDEX = "ix_api_key_subject_sha256"
_keys = sa.table(_TABLE, sa.column("id", sa.String), sa.column("scopes", sa.JSON))


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column("subject_sha256", sa.String(length=64), nullable=True))
    op.add_column(_TABLE, sa.Column("person", sa.String(length=200), nullable=True))
    op.create_index(_INDEX, _TABLE, ["subject_sha256"], unique=True)
    # Until now whoever could write could make and revoke keys, too.
    _rescope(lambda scopes: sorted({*scopes, "admin"}) if "write" in scopes else scopes)


def downgrade() -> None:
    _rescope(lambda scopes: [scope for scope in scopes if scope != "admin"])
    op.get_bind().execute(sa.text(f"DELETE FROM {_TABLE} WHERE subject_sha256 IS NOT NULL"))  # noqa: S608  a constant
    op.drop_index(_INDEX, _TABLE)
    with op.batch_alter_table(_TABLE) as table:
        table.drop_column("person")
        table.drop_column("subject_sha256")


def _rescope(change) -> None:  # noqa: ANN001
    connection = op.get_bind()
    for key_id, scopes in connection.execute(sa.select(_keys.c.id, _keys.c.scopes)).all():
        if change(scopes) != scopes:
            connection.execute(sa.update(_keys).where(_keys.c.id == key_id).values(scopes=change(scopes)))
