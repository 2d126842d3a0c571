"""Alembic's way to the tables: on the connection of `Database.migrate`, or on the configured database by hand."""

from __future__ import annotations

from typing import Literal

from alembic import context
from sqlalchemy import Connection, create_engine

import autoprog.storage.test_selection_tables  # noqa: F401  tables beside those of `tables`
from autoprog.settings import Settings
from autoprog.storage.tables import Base, UtcDateTime


def render_type(kind: str, item: object, _: object) -> str | Literal[False]:
    # A revision must not change its meaning with the code of today.
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite changes most things of a table by rebuilding it
        transactional_ddl=True,
        render_item=render_type,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with create_engine(Settings().database_url).begin() as own:
        run(own)
