"""Where a search began; effects of all algorithms in what finished searches leave.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("search", sa.Column("start", sa.JSON(), nullable=True))
    _revise(_with_offsets)


def downgrade() -> None:
    _revise(_with_offset_each)
    with op.batch_alter_table("search") as table:
        table.drop_column("start")


def _revise(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    table = sa.table("cohort_statistics", sa.column("cohort_id"), sa.column("metric"), sa.column("document", sa.JSON()))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table)).all():
        document = json.loads(row.document) if isinstance(row.document, str) else row.document
        key = (table.c.cohort_id == row.cohort_id) & (table.c.metric == row.metric)
        connection.execute(table.update().where(key).values(document=change(document)))


def _with_offsets(document: dict[str, Any]) -> dict[str, Any]:
    """Effects were known of prediction algorithms alone."""
    offsets = {f"prediction/{gain['algorithm']}": gain["offset"] for gain in document["algorithms"]}
    gains = [{name: value for name, value in gain.items() if name != "offset"} for gain in document["algorithms"]]
    return {**document, "offsets": offsets, "algorithms": gains}


def _with_offset_each(document: dict[str, Any]) -> dict[str, Any]:
    offsets = document["offsets"]
    gains = [{**gain, "offset": offsets.get(f"prediction/{gain['algorithm']}", 0.0)} for gain in document["algorithms"]]
    return {**{name: value for name, value in document.items() if name != "offsets"}, "algorithms": gains}
