"""What commands share: options, failures, settings, the database."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from autoprog.settings import Settings, read_settings

if TYPE_CHECKING:
    from autoprog.storage.database import Database

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the database, cohort files and models.")]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", help="SQLAlchemy URL; default: SQLite in the data folder.")
]
SchedulerAddress = Annotated[
    str | None, typer.Option("--scheduler", help="Dask scheduler; default: workers in this process.")
]


def fail(*lines: str) -> NoReturn:
    """Print lines to standard error and exit with code 2."""
    for line in lines:
        print(f"autoprog: {line}", file=sys.stderr)
    raise SystemExit(2)


def read_options(**overrides: Any) -> Settings:
    """Return the environment's settings, overridden by the command line's."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return read_settings(given)
    except ValidationError as error:
        # A fault of several settings together has no place; its type is the name of one of them.
        faults = [
            (str((fault["loc"] or (fault["type"],))[0]), fault["msg"].removeprefix("Value error, "))
            for fault in error.errors()
        ]
        fail(*(_setting_line(name, text, is_variable=name not in given) for name, text in faults))
    except SettingsError as error:
        found = re.search(r'field "(\w+)"', str(error))
        name = "plugins" if found is None else found[1]
        fail(_setting_line(name, f"this is no JSON {_JSON.get(name, 'document')}", is_variable=True))


_JSON = {
    "plugins": 'list of modules, such as ["ward7.learners"]',
    "accepted_model_keys": 'list of keys, such as ["KEY"], or [] for none',
    "oidc_roles": 'object of scopes, such as {"physician": ["read", "predict"]}',
}


def _setting_line(name: str, text: str, *, is_variable: bool) -> str:
    variable = f"AUTOPROG_{name.upper()}" if is_variable else name
    return text if text.startswith(f"{variable} ") else f"{variable}: {text}"


def prepare_database(opened: Callable[[], Database], settings: Settings, *, upgrade: bool = False) -> Database:
    """Open the database; migrate SQLite, but leave a database server's migration to its operator."""
    from alembic.util import CommandError
    from sqlalchemy.exc import ArgumentError, DBAPIError

    try:
        database = opened()
        if upgrade or settings.database_url.startswith("sqlite"):
            database.migrate()
        elif not database.is_migrated():
            database.close()
            fail("the database is not at this version: run `autoprog db upgrade` first")
    except (ArgumentError, ModuleNotFoundError):  # SQLAlchemy imports the driver that the URL asks for
        fail("--database, AUTOPROG_DATABASE: give sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST:PORT/NAME")
    except DBAPIError as error:
        fail(f"the database cannot be used: {' '.join(str(error.orig).split())}")
    except CommandError as error:
        fail(f"the database is not of this version of autoprog, nor of an earlier one: {error}")
    return database


def read_document(text: str) -> bytes:
    """Return JSON given as text or as the name of a file."""
    return text.encode() if text.lstrip().startswith("{") else Path(text).read_bytes()
