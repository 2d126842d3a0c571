"""The command line and its groups of commands, to which the other modules add theirs."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
db = typer.Typer(no_args_is_help=True, help="The database.")
owners = typer.Typer(no_args_is_help=True, help="Owners of cohorts, models and keys.")
keys = typer.Typer(no_args_is_help=True, help="API keys.")
cluster = typer.Typer(no_args_is_help=True, help="A cluster of several machines.")
models = typer.Typer(no_args_is_help=True, help="Stored models.")
audit = typer.Typer(no_args_is_help=True, help="The audit trail.")
app.add_typer(db, name="db")
app.add_typer(keys, name="keys")
app.add_typer(owners, name="owners")
app.add_typer(cluster, name="cluster")
app.add_typer(models, name="models")
app.add_typer(audit, name="audit")


def _print_version(asked: bool) -> None:
    if asked:
        print(version("autoprog"))
        raise typer.Exit


@app.callback()
def start(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The command line: `autoprog serve`, `search`, `predict` and the parts of an installation."""
