"""Commands without a server: search, predictions, the space of pipelines, the demonstration."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from autoprog.cli.commands import app
from autoprog.cli.common import (
    fail,
    read_document,
    read_options,
)
from autoprog.errors import ArtifactError, InvalidInputError
from autoprog.fork_server import start_fork_server
from autoprog.logs import log_to_stderr
from autoprog.spreadsheet import write_rows
from autoprog.strict_json import load_strictly

if TYPE_CHECKING:
    from autoprog.model import PatientRisk
    from autoprog.space import Algorithm

_SETTINGS_HELP = (
    "Settings of the search: a JSON file or JSON text, such as "
    '{"budget": {"time_s": 300}, "metric": "brier", "racing": false, "repeats": 1}; '
    "`/docs` of the API describes all of them."
)


_FILE_HELP = "The cohort's file: a row per patient, or per visit; the first row names the columns."


_SEARCH_HELP = """Search for a model without a server; Ctrl-C makes one of what was found so far.

Without an outcome it says which columns may hold one. Run again with the same folder, a search that was stopped
continues, and one that has ended goes on if --minutes says more than before."""


@app.command(help=_SEARCH_HELP)
def search(  # noqa: PLR0913, PLR0917  one option a piece of the description
    context: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help=_FILE_HELP)],
    out: Annotated[Path, typer.Option(help="Folder for the model and its report.")],
    outcome: Annotated[str | None, typer.Option(help="Column of a binary outcome.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="Its value for those who had the outcome; default: 1, yes, dead ...")
    ] = None,
    time_column: Annotated[
        str | None, typer.Option("--time", help="Column of the time to the event or the end of follow-up.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Column of the date from which time counts, if --time is a column of dates.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the time between two dates: days (the default), months or years.")
    ] = None,
    event: Annotated[str | None, typer.Option(help="Column of what ended the follow-up.")] = None,
    cause: Annotated[
        str | None, typer.Option(help="Its value for the event of interest; default: the only one.")
    ] = None,
    competing: Annotated[list[str] | None, typer.Option(help="Its value for another event; repeat.")] = None,
    censored: Annotated[str | None, typer.Option(help="Its value for no event; default: 0, no, alive ...")] = None,
    horizon: Annotated[
        list[float] | None, typer.Option(help="Time at which risks are predicted; repeat. Default: quartiles.")
    ] = None,
    patient_id: Annotated[
        str | None, typer.Option(help="Column that names the patient, where patients have several rows.")
    ] = None,
    visit_time: Annotated[str | None, typer.Option(help="Column of a visit's time: predict after each visit.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeat.")] = None,
    categorical: Annotated[list[str] | None, typer.Option(help="Column of codes, not of numbers; repeat.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="Value that means missing in every column, such as -99 or unknown; repeat.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the cohort; default: the file's.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.1, help="Time to search; with more than before an ended search goes on.")
    ] = None,
    spec: Annotated[str | None, typer.Option(help="Instead of all these: a JSON file or JSON text.")] = None,
    settings: Annotated[str, typer.Option(help=_SETTINGS_HELP)] = "{}",
) -> None:
    """Search for a model without a server; Ctrl-C makes one of what was found so far."""
    from autoprog.spec_options import SpecOptions, build_spec, suggest, to_json

    options = SpecOptions(
        outcome=outcome,
        positive=positive,
        time=time_column,
        since=since,
        unit=unit,
        event=event,
        cause=cause,
        competing=tuple(competing or ()),
        censored=censored,
        horizons=tuple(horizon or ()),
        patient=patient_id,
        visit_time=visit_time,
        ignore=tuple(ignore or ()),
        categorical=tuple(categorical or ()),
        missing=tuple(missing or ()),
        name=name,
        sheet=sheet,
    )
    if spec is not None and options != SpecOptions():
        fail("--spec says what the columns mean: leave out --outcome, --time and the like, or leave out --spec")
    if spec is None and not options.are_given:
        print(*suggest(file, sheet), sep="\n", file=sys.stderr)
        raise SystemExit(2)
    # Not in an installation's database, whose runners would take the search.
    own = {"data_dir": out / "state", "database": None, "files": None, "scheduler": None}
    process_settings = read_options().model_copy(update=own)
    start_fork_server(process_settings.plugins)
    from autoprog.local import search_locally

    document = read_document(spec) if spec is not None else to_json(build_spec(options, file))
    log_to_stderr(process_settings, logging.WARNING)  # the progress bar shows the rest
    began = context.obj or time.time()
    asked = _with_minutes(read_document(settings), minutes)
    search_locally(file, document, asked, out, process_settings, console=Console(), began=began)


_EVALUATIONS_A_MINUTE = 100


def _with_minutes(settings: bytes, minutes: float | None) -> bytes:
    """Return the settings of a search with this budget."""
    if minutes is None:
        return settings
    try:
        document = load_strictly(settings, "--settings")
    except InvalidInputError:
        raise
    except (ValueError, RecursionError) as error:
        fail(f"--settings: this is no JSON: {error}")
    if not isinstance(document, dict):
        fail("--settings: give a JSON object")
    if "budget" in document:
        fail("--minutes and the budget in --settings say the same: leave one out")
    evaluations = min(10_000, max(100, round(_EVALUATIONS_A_MINUTE * minutes)))
    return json.dumps({**document, "budget": {"time_s": 60 * minutes, "evaluations": evaluations}}).encode()


_PATIENTS_HELP = "Patients, in any format that a search takes, with the model's features; cells may be missing."


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A model that a search wrote.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help=_PATIENTS_HELP)],
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column that names the patients; default: they are numbered.")
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")] = None,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; default: standard output.")] = None,
) -> None:
    """Print every patient's risk as CSV, with its interval, stratum and warnings; one row per horizon and patient."""
    from autoprog.cohort import read_named
    from autoprog.libraries import import_plugins
    from autoprog.model import PrognosticModel

    import_plugins(read_options().plugins)
    try:
        loaded = PrognosticModel.from_bytes(model.read_bytes())
    except ArtifactError as error:
        fail(f"{model}: {error}")
    if loaded.outcome.patient and id_column not in {None, loaded.outcome.patient}:
        fail(f"--id: the model names its patients by column {loaded.outcome.patient}")
    read = read_named(
        file, loaded.outcome, loaded.inputs, names=id_column, na_values=loaded.metadata.na_values, sheet=sheet
    )
    for warning in read.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    rows = _risk_rows(read.names, loaded.predict(read.patients))
    if out is None:
        write_rows(sys.stdout, rows)
        return
    with out.open("w", newline="", encoding="utf-8") as target:
        write_rows(target, rows)


def _risk_rows(names: Sequence[str], risks: Sequence[PatientRisk]) -> list[Sequence[object]]:
    """Return the table of predictions, its header first; the ends of an interval are empty where there is none."""
    parts = [[(name, each, item.warnings) for each in item.parts] for name, item in zip(names, risks, strict=True)]
    place = ("horizon",)[: len(parts[0][0][1].place)]
    rows: list[Sequence[object]] = [["patient", *place, "risk", "lower", "upper", "stratum", "warnings"]]
    for name, each, warnings in chain.from_iterable(parts):
        ends = each.interval or ("", "")
        rows.append([name, *each.place, each.risk, *ends, each.stratum, "; ".join(warnings)])
    return rows


@app.command()
def space(
    as_json: Annotated[bool, typer.Option("--json", help="The same document as `GET /v1/space`.")] = False,
) -> None:
    """Print the pipeline space: each stage's algorithms, their hyperparameters, and what they accept and cost."""
    from autoprog.libraries import import_plugins
    from autoprog.space import STAGES, Space

    import_plugins(read_options().plugins)
    full = Space.full()
    if as_json:
        from api.space.service import space_document

        print(space_document(full).model_dump_json(indent=2))
        return
    console = Console(highlight=False, markup=False)
    for stage, algorithms in zip(STAGES, full.stages, strict=True):
        console.print(_stage_table(stage, algorithms))
    console.print(_SPACE_NOTE)
    console.print(f"{full.n_pipelines:,} pipelines, {full.n_dimensions} dimensions")


_SPACE_NOTE = """\
Hyperparameters: "to" between real numbers, ".." between whole ones; log: on a
logarithmic scale; the default in brackets.
Takes: missing cells, negative values, categories as codes, collinear columns,
event times, weights of patients. Bounds: the widest design matrix; the most
patients that a fit uses of a larger cohort. Seconds: about what a fit at the
defaults takes, n in 1,000 patients and d in 20 columns."""


def _stage_table(stage: str, algorithms: Sequence[Algorithm]) -> Table:
    from autoprog.space import cost_text, describe_guards, describe_inputs, hyperparameter_text

    table = Table(title=f"{stage} ({len(algorithms)})", title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("algorithm", no_wrap=True)
    table.add_column("hyperparameters", overflow="fold")
    table.add_column("takes; bounds; seconds", overflow="fold")
    for algorithm in algorithms:
        only = [] if "classification" in algorithm.modes else [f"({', '.join(algorithm.modes)})"]
        axes = [f"{axis.name}: {hyperparameter_text(axis)}" for axis in algorithm.hyperparameters]
        about = [
            ", ".join(describe_inputs(algorithm)),
            *describe_guards(algorithm),
            f"seconds: {cost_text(algorithm.cost)}",
        ]
        if algorithm.refits != 1:
            about.append(f"times {algorithm.refits:g} for the stages before")
        table.add_row(*("\n".join(lines) for lines in ([algorithm.name, *only], axes, about)))
    return table


@app.command()
def demo(
    time_s: Annotated[float, typer.Option(min=5, help="Seconds that the search may take.")] = 60.0,
) -> None:
    """Run a search on the bundled Cleveland cohort, through a server of its own."""
    from autoprog.demo import run_demo

    run_demo(time_s, Console())
