"""The command line: `autoprog serve`, `search`, `predict` and the parts of an installation."""

from __future__ import annotations

import getpass
import hashlib
import ipaddress
import json
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import psutil
import structlog
import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from autoprog.errors import ArtifactError, AutoprogError, Fault, InvalidInputError
from autoprog.extras import explain_missing
from autoprog.logs import log_to_stderr
from autoprog.settings import Settings, read_settings
from autoprog.spreadsheet import write_rows

if TYPE_CHECKING:
    import uvicorn
    from sqlalchemy.orm import Session

    from autoprog.model import PatientRisk
    from autoprog.space import Algorithm
    from autoprog.storage.database import Database

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
db = typer.Typer(no_args_is_help=True, help="The database.")
owners = typer.Typer(no_args_is_help=True, help="Owners of cohorts, models and keys.")
keys = typer.Typer(no_args_is_help=True, help="API keys.")
cluster = typer.Typer(no_args_is_help=True, help="A cluster of several machines.")
audit = typer.Typer(no_args_is_help=True, help="The audit trail.")
app.add_typer(db, name="db")
app.add_typer(keys, name="keys")
app.add_typer(owners, name="owners")
app.add_typer(cluster, name="cluster")
app.add_typer(audit, name="audit")

_DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the database, cohort files and models.")]
_Database = Annotated[
    str | None, typer.Option("--database", help="SQLAlchemy URL; default: SQLite in the data folder.")
]
_Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Dask scheduler; default: workers in this process.")
]


def main() -> None:
    """Run the command line; a named error prints one line per fault and exits with code 2, without a traceback."""
    # By default, the running search would wait until its lease ends, and the demo would leave its server running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(obj=psutil.Process().create_time())
    except ModuleNotFoundError as error:
        if (missing := explain_missing(error, "this command")) is None:
            raise
        _fail(str(missing))
    except InvalidInputError as error:
        _fail(*map(_fault_line, error.faults))
    except AutoprogError as error:
        _fail(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        _fail(f"{error.filename}: {error.strerror}")


def _fault_line(fault: Fault) -> str:
    values = f"; among them {', '.join(fault.values)}" if fault.values else ""
    return f"{fault.pointer}: {fault.detail}{values}"


def _fail(*lines: str) -> NoReturn:
    for line in lines:
        print(f"autoprog: {line}", file=sys.stderr)
    raise SystemExit(2)


def _settings(**overrides: Any) -> Settings:
    """Return the environment's settings, overridden by the command line's."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return read_settings(given)
    except ValidationError as error:
        faults = [
            (str(fault["loc"][0]) if fault["loc"] else "scheduler", fault["msg"].removeprefix("Value error, "))
            for fault in error.errors()
        ]
        _fail(*(f"{name if name in given else 'AUTOPROG_' + name.upper()}: {text}" for name, text in faults))
    except SettingsError:
        _fail('AUTOPROG_PLUGINS: this is no JSON list of modules, such as ["ward7.learners"]')


@app.command()
def serve(
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    data_dir: _DataDir = None,
    database: _Database = None,
    scheduler: _Scheduler = None,
    runner: Annotated[bool, typer.Option("--runner/--no-runner", help="Run searches and jobs in this process.")] = True,
    *,
    operations: Annotated[
        str | None, typer.Option(help="HOST:PORT for /metrics and /docs; default: with the API.")
    ] = None,
    require_keys: Annotated[
        bool | None, typer.Option("--require-keys", help="Ask for keys on a loopback address too, as behind a proxy.")
    ] = None,
) -> None:
    """Serve the API and, unless told otherwise, run searches and jobs in the same process."""
    import uvicorn

    from api import create_app, create_operations
    from autoprog.libraries import import_libraries
    from autoprog.service import Service
    from autoprog.storage.repositories import KeyRepository

    own = {"require_keys": require_keys, "operations": operations}
    settings = _settings(data_dir=data_dir, database=database, scheduler=scheduler, **own)
    log_to_stderr(settings)
    with closing(Service(settings)) as service:
        _prepare_database(lambda: service.database, settings)
        with service.database.session(read_only=True) as session:
            keys = KeyRepository(session)
            local = _is_loopback(host) and not settings.require_keys and not keys.were_made()
            if not local and not keys.exists():
                _fail(f"refusing to serve on {host} without API keys: make one with `autoprog keys create`")
        health = (lambda: service.engine.health().reachable) if runner else None
        web = create_app(
            settings,
            service.database,
            service.files,
            local_owner=local,
            engine_health=health,
            operations_apart=settings.operations is not None,
        )
        quiet: dict[str, Any] = {"log_config": None, "log_level": "info", "access_log": False}
        config = uvicorn.Config(
            web,
            host=host,
            port=port,
            **quiet,
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=settings.proxies,
            timeout_graceful_shutdown=5,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit())  # uvicorn raises the signal once more when it has ended
        import_libraries()  # so that the server does not report that it is ready before they are loaded
        with service.running() if runner else nullcontext(), ExitStack() as beside:
            if settings.operations is not None:
                place, _, its_port = settings.operations.rpartition(":")
                side = uvicorn.Config(create_operations(web), host=place.strip("[]"), port=int(its_port), **quiet)
                beside.enter_context(_served(uvicorn.Server(side)))
            uvicorn.Server(config).run()


@contextmanager
def _served(server: uvicorn.Server) -> Iterator[None]:
    """Run another server in this process while the block runs."""
    thread = threading.Thread(target=server.run, name="operations")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _prepare_database(opened: Callable[[], Database], settings: Settings, *, upgrade: bool = False) -> Database:
    """Open the database; migrate SQLite, but leave a database server's migration to its operator."""
    from alembic.util import CommandError
    from sqlalchemy.exc import ArgumentError, DBAPIError

    try:
        database = opened()
        if upgrade or settings.database_url.startswith("sqlite"):
            database.migrate()
        elif not database.is_migrated():
            database.close()
            _fail("the database is not at this version: run `autoprog db upgrade` first")
    except (ArgumentError, ModuleNotFoundError):  # SQLAlchemy imports the driver that the URL asks for
        _fail("--database, AUTOPROG_DATABASE: give sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST:PORT/NAME")
    except DBAPIError as error:
        _fail(f"the database cannot be used: {' '.join(str(error.orig).split())}")
    except CommandError as error:
        _fail(f"the database is not of this version of autoprog, nor of an earlier one: {error}")
    return database


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@app.command()
def runner(data_dir: _DataDir = None, database: _Database = None, scheduler: _Scheduler = None) -> None:
    """Run searches and jobs without an API until the process is asked to end."""
    from autoprog.service import Service

    settings = _settings(data_dir=data_dir, database=database, scheduler=scheduler)
    log_to_stderr(settings)
    asked = threading.Event()
    with closing(Service(settings)) as service:
        _prepare_database(lambda: service.database, settings)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: asked.set())
        with service.running():
            structlog.get_logger().info("runner_started", scheduler=settings.scheduler)
            asked.wait()


@app.command()
def worker(
    scheduler: Annotated[str, typer.Option(help="Address of the Dask scheduler.")],
    slots: Annotated[int | None, typer.Option(min=1, help="Evaluations at once; default: number of cores.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
) -> None:
    """Run evaluations for a scheduler until it is lost or the process is asked to end."""
    from autoprog.engine import worker_main
    from autoprog.service import Service

    settings = _settings(workers=slots, scheduler=scheduler)
    log_to_stderr(settings)
    slots = Service(settings).slots
    raise SystemExit(worker_main(scheduler, slots, settings.plugins, host=host, certificates=settings.certificates))


@app.command()
def scheduler(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where workers and runners connect.")] = 8786,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default: all.")] = None,
    health: Annotated[str, typer.Option(help="HOST:PORT where /health is served.")] = "127.0.0.1:8787",
) -> None:
    """Hand out the calls of runners to workers; one for a cluster."""
    from autoprog.engine import scheduler_main

    settings = _settings()
    if settings.certificates is None and not settings.plain_scheduler:
        _fail(
            "without certificates whoever reaches the port can run code on every worker: set AUTOPROG_CERTIFICATES to "
            "the folder of `autoprog cluster certificates`, or AUTOPROG_PLAIN_SCHEDULER=true where nobody else can"
        )
    log_to_stderr(settings)
    scheduler_main(port, host=host, certificates=settings.certificates, health=health)


@cluster.command("certificates")
def cluster_certificates(
    folder: Annotated[Path, typer.Argument(help="Folder for them, to be copied to all machines of the cluster.")],
    days: Annotated[int, typer.Option(min=1, help="How long they are valid.")] = 730,
    renew: Annotated[bool, typer.Option("--renew", help="Replace those that the folder holds.")] = False,
) -> None:
    """Make the certificates by which scheduler, workers and runners know each other; keep those that are there."""
    from autoprog.engine import are_there, make_certificates

    if are_there(folder) and not renew:
        print(f"{folder} holds certificates already")
        return
    ends_at = make_certificates(folder, days)
    print(f"wrote certificates to {folder}; they end on {ends_at:%Y-%m-%d}")


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
    cause: Annotated[str | None, typer.Option(help="Its value for the event of interest.")] = None,
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
    name: Annotated[str | None, typer.Option(help="Name of the cohort; default: the file's.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.1, help="Time to search; with more than before an ended search goes on.")
    ] = None,
    spec: Annotated[str | None, typer.Option(help="Instead of all these: a JSON file or JSON text.")] = None,
    settings: Annotated[str, typer.Option(help=_SETTINGS_HELP)] = "{}",
) -> None:
    """Search for a model without a server; Ctrl-C makes one of what was found so far."""
    from autoprog.local import search_locally
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
        name=name,
        sheet=sheet,
    )
    if spec is not None and options != SpecOptions():
        _fail("--spec says what the columns mean: leave out --outcome, --time and the like, or leave out --spec")
    if spec is None and not options.are_given:
        print(*suggest(file, sheet), sep="\n", file=sys.stderr)
        raise SystemExit(2)
    document = _document(spec) if spec is not None else to_json(build_spec(options, file))
    # Not in an installation's database, whose runners would take the search.
    own = {"data_dir": out / "state", "database": None, "files": None, "scheduler": None}
    process_settings = _settings().model_copy(update=own)
    log_to_stderr(process_settings, logging.WARNING)  # the progress bar shows the rest
    began = context.obj or time.time()
    asked = _with_minutes(_document(settings), minutes)
    search_locally(file, document, asked, out, process_settings, console=Console(), began=began)


_EVALUATIONS_A_MINUTE = 100


def _with_minutes(settings: bytes, minutes: float | None) -> bytes:
    """Return the settings of a search with this budget."""
    if minutes is None:
        return settings
    document = json.loads(settings)
    if "budget" in document:
        _fail("--minutes and the budget in --settings say the same: leave one out")
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
    out: Annotated[Path | None, typer.Option(help="CSV file to write; default: standard output.")] = None,
) -> None:
    """Print every patient's risk as CSV, with its interval, stratum and warnings; one row per horizon and patient."""
    from autoprog.cohort import Visits, read_column, read_patients, read_visits
    from autoprog.libraries import import_plugins
    from autoprog.model import PrognosticModel

    import_plugins(_settings().plugins)
    try:
        loaded = PrognosticModel.from_bytes(model.read_bytes())
    except ArtifactError as error:
        _fail(f"{model}: {error}")
    if isinstance(loaded.outcome, Visits):
        if id_column not in {None, loaded.outcome.patient}:
            _fail(f"--id: the model names its patients by column {loaded.outcome.patient}")
        histories = read_visits(file, loaded.inputs, loaded.outcome.patient, loaded.outcome.visit_time)
        rows = _risk_rows(list(histories), loaded.predict(list(histories.values())))
    else:
        patients = read_patients(file, loaded.inputs)
        numbers = [str(number) for number in range(1, len(patients) + 1)]
        names = numbers if id_column is None else read_column(file, id_column)
        rows = _risk_rows(names, loaded.predict(patients))
    if out is None:
        write_rows(sys.stdout, rows)
        return
    with out.open("w", newline="", encoding="utf-8") as target:
        write_rows(target, rows)


def _risk_rows(names: Sequence[str], risks: Sequence[PatientRisk]) -> list[Sequence[object]]:
    """Return the table of predictions, its header first; the ends of an interval are empty where there is none."""
    rows: list[Sequence[object]]
    if not risks[0].horizons:
        rows = [["patient", "risk", "lower", "upper", "stratum", "warnings"]]
        for name, item in zip(names, risks, strict=True):
            ends = item.interval or ("", "")
            rows.append([name, item.risk, *ends, item.stratum, "; ".join(item.warnings)])
    else:
        rows = [["patient", "horizon", "risk", "lower", "upper", "stratum", "warnings"]]
        for name, item in zip(names, risks, strict=True):
            for at in item.horizons:
                ends = at.interval or ("", "")
                rows.append([name, f"{at.horizon:g}", at.risk, *ends, at.stratum, "; ".join(item.warnings)])
    return rows


@app.command()
def space(
    as_json: Annotated[bool, typer.Option("--json", help="The same document as `GET /v1/space`.")] = False,
) -> None:
    """Print the pipeline space: each stage's algorithms, their hyperparameters, and what they accept and cost."""
    from autoprog.libraries import import_plugins
    from autoprog.space import STAGES, Space

    import_plugins(_settings().plugins)
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


@db.command("upgrade")
def db_upgrade(data_dir: _DataDir = None, database: _Database = None) -> None:
    """Migrate the database's tables to this version."""
    from autoprog.storage.database import Database

    settings = _settings(data_dir=data_dir, database=database)
    _prepare_database(lambda: Database(settings.database_url), settings, upgrade=True).close()


@keys.command("create")
def keys_create(
    owner: Annotated[str, typer.Option(help="Whom the key speaks for; made when new.")],
    scopes: Annotated[
        list[str], typer.Option(help="Any of read, write, predict, approve; repeat or separate by commas.")
    ],
    days: Annotated[
        float | None, typer.Option(min=0, help="How long it is valid; default: until it is revoked.")
    ] = None,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Make an API key and print it, once."""
    from api.auth import SCOPES
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import KeyRepository

    wanted = [scope for text in scopes for scope in text.split(",") if scope]
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if not owner.strip():
        _fail("--owner is empty")
    if unknown or not wanted:
        _fail(f"unknown scopes {', '.join(unknown) or '(none given)'}; known are {', '.join(SCOPES)}")
    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session() as session:
        life = None if days is None else timedelta(days=days)
        row, text = KeyRepository(session).create(owner, wanted, life=life)
        _enter(session, "keys create", row.id)
    print(text)


def _enter(session: Session, command: str, resource: str) -> None:
    """Append a command to the audit trail, in the same transaction."""
    from autoprog.storage.repositories import AuditEvent, AuditRepository

    address = f"{getpass.getuser()}@{socket.gethostname()}"[:100]
    AuditRepository(session).append([AuditEvent(command, resource, address, "done")])


@keys.command("list")
def keys_list(
    owner: Annotated[str | None, typer.Option(help="Whose keys; default: everybody's.")] = None,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """List keys: identifier, scopes, when made and last used, owner, and whether they are valid; never the secret."""
    from autoprog.storage.database import Database, database_now
    from autoprog.storage.repositories import KeyRepository

    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        listed, now = KeyRepository(session).all(owner), database_now(session)
    for name, key in listed:
        used = f"used {key.used_at:%Y-%m-%d}" if key.used_at else "never used"
        if key.revoked_at is not None:
            state = f"revoked {key.revoked_at:%Y-%m-%d}"
        elif key.expires_at is not None:
            state = f"{'expires' if key.expires_at > now else 'expired'} {key.expires_at:%Y-%m-%d}"
        else:
            state = "live"
        print(f"{key.id}  {','.join(key.scopes)}  made {key.created_at:%Y-%m-%d}  {used}  {name}  {state}")


@keys.command("rotate")
def keys_rotate(
    key_id: Annotated[str, typer.Argument(help="Identifier, as `autoprog keys list` shows it.")],
    overlap_hours: Annotated[float, typer.Option(min=0, help="How long the old key stays valid.")] = 24.0,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Make a key in place of another one and print it, once; the old one ends after the overlap."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import KeyRepository

    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session() as session:
        row, text = KeyRepository(session).rotate(key_id, timedelta(hours=overlap_hours))
        _enter(session, "keys rotate", f"{key_id}/{row.id}")
    print(text)


@keys.command("revoke")
def keys_revoke(
    key_id: Annotated[str, typer.Argument(help="Identifier, as `autoprog keys list` shows it.")],
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Revoke a key; what was made with it stays with its owner."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import KeyRepository

    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session() as session:
        KeyRepository(session).revoke(key_id)
        _enter(session, "keys revoke", key_id)


@owners.command("delete")
def owners_delete(
    name: Annotated[str, typer.Argument(help="The owner's name, as `autoprog keys list` shows it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Needed, as nothing can be undone.")] = False,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Erase an owner with all keys, cohorts, searches and models, for ever; print what was erased as JSON."""
    from autoprog.service import Service
    from autoprog.storage.erasure import erase_owner

    if not yes:
        _fail(f"this erases all that belongs to {name!r} for ever: add --yes")
    settings = _settings(data_dir=data_dir, database=database)
    service = Service(settings)
    _prepare_database(lambda: service.database, settings)
    with closing(service):
        erased = erase_owner(service.database, service.files, name)
        with service.database.session() as session:
            _enter(session, "owners delete", erased.owner_id)
    files = {"files_removed": erased.removed, "files_of_others_too": erased.kept}
    listed = {name: ["/".join(file) for file in found] for name, found in files.items()}
    print(json.dumps({"owner": name, "owner_id": erased.owner_id, "rows": erased.rows, **listed}, indent=2))


@audit.command("verify")
def audit_verify(
    expect: Annotated[
        str | None, typer.Option(help="NUMBER:DIGEST as printed earlier, which the trail must still hold.")
    ] = None,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Check the whole chain and print its end as NUMBER:DIGEST; note it where nobody can change it."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import AuditRepository, ChainEnd

    number, _, digest = (expect or "").partition(":")
    if expect is not None and not (number.isdecimal() and len(digest) == len(hashlib.sha256().hexdigest())):
        _fail("--expect: give NUMBER:DIGEST as `autoprog audit verify` prints it")
    known = None if expect is None else ChainEnd(int(number), digest)
    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        end = AuditRepository(session).verify(known)
    print(f"{end.sequence}:{end.sha256}")


@audit.command("export")
def audit_export(
    after: Annotated[int, typer.Option(min=0, help="The last event that is known already.")] = 0,
    data_dir: _DataDir = None,
    database: _Database = None,
) -> None:
    """Print the events as JSON, one per line."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import AuditRepository
    from autoprog.storage.repositories.audit import audit_document

    settings = _settings(data_dir=data_dir, database=database)
    target = _prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        for row in AuditRepository(session).after(after):
            print(json.dumps(audit_document(row)))


def _document(text: str) -> bytes:
    """Return JSON given as text or as the name of a file."""
    return text.encode() if text.lstrip().startswith("{") else Path(text).read_bytes()


if __name__ == "__main__":
    main()
