"""Commands that run until they are stopped: server, runner, worker and scheduler."""

from __future__ import annotations

import gc
import ipaddress
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from autoprog.cli.commands import app, cluster
from autoprog.cli.common import (
    DatabaseUrl,
    DataDir,
    SchedulerAddress,
    fail,
    prepare_database,
    read_options,
)
from autoprog.fork_server import start_fork_server
from autoprog.logs import log_to_stderr

if TYPE_CHECKING:
    import uvicorn

_LOOK_S = 0.02


@app.command()
def serve(
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
    scheduler: SchedulerAddress = None,
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
    own = {"require_keys": require_keys, "operations": operations}
    settings = read_options(data_dir=data_dir, database=database, scheduler=scheduler, **own)
    log_to_stderr(settings)
    if runner and not settings.scheduler:
        start_fork_server(settings.plugins)
    import uvicorn

    from api.app import create_app, create_operations
    from autoprog.app.service import Service
    from autoprog.libraries import import_libraries
    from autoprog.storage.repositories import KeyRepository

    with closing(Service(settings)) as service:
        prepare_database(lambda: service.database, settings)
        with service.database.session(read_only=True) as session:
            keys = KeyRepository(session, timedelta(days=settings.person_keys_days))
            signs_on = settings.single_sign_on is not None
            local = _is_loopback(host) and not settings.require_keys and not signs_on and not keys.were_made()
            if not local and not signs_on and not keys.exists():
                fail(f"refusing to serve on {host} without API keys: make one with `autoprog keys create`")
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
        # What is loaded by now stays. Garbage collection would search it, and stop all requests for 0.3 s each time.
        gc.collect()
        gc.freeze()
        with service.running() if runner else nullcontext(), ExitStack() as beside:
            if settings.operations is not None:
                place, _, its_port = settings.operations.rpartition(":")
                side = uvicorn.Config(create_operations(web), host=place.strip("[]"), port=int(its_port), **quiet)
                beside.enter_context(_served(uvicorn.Server(side)))
            uvicorn.Server(config).run()


@contextmanager
def _served(server: uvicorn.Server) -> Iterator[None]:
    """Run another server in this process while the block runs; fail if it cannot serve."""
    thread = threading.Thread(target=server.run, name="operations")
    thread.start()
    try:
        while not server.started:
            thread.join(_LOOK_S)
            if not thread.is_alive():  # uvicorn has logged why
                place = f"{server.config.host}:{server.config.port}"
                fail(f"/metrics and /docs cannot be served on {place}: is the port in use?")
        yield
    finally:
        server.should_exit = True
        thread.join()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@app.command()
def runner(data_dir: DataDir = None, database: DatabaseUrl = None, scheduler: SchedulerAddress = None) -> None:
    """Run searches and jobs without an API until the process is asked to end."""
    from autoprog.app.service import Service

    settings = read_options(data_dir=data_dir, database=database, scheduler=scheduler)
    log_to_stderr(settings)
    asked = threading.Event()
    with closing(Service(settings)) as service:
        prepare_database(lambda: service.database, settings)
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
    """Run evaluations for a scheduler, and join it again when it is lost, until the process is asked to end."""
    from autoprog.app.service import Service
    from autoprog.engine.cluster import worker_main

    settings = read_options(workers=slots, scheduler=scheduler)
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
    from autoprog.engine.cluster import scheduler_main

    settings = read_options()
    if settings.certificates is None and not settings.plain_scheduler:
        fail(
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
    from autoprog.engine.cluster import are_there, make_certificates

    if are_there(folder) and not renew:
        print(f"{folder} holds certificates already")
        return
    ends_at = make_certificates(folder, days)
    print(f"wrote certificates to {folder}; they end on {ends_at:%Y-%m-%d}")
