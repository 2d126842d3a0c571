"""Faults of processes, database and clock under load: nothing acknowledged is lost, nothing is done twice.

    python -m tests.drills.faults [--postgres URL | --own-postgres | --cluster URL | --network URL] [--own-disk]
        [--only FAULT ...] [--times 1]

URL names a server on which databases are made and dropped; without one everything runs on SQLite. With `--own-postgres`
a server of the drill's own is stopped and started; with `--cluster` the runners' evaluations run on two workers of a
scheduler, with TLS; with `--network` these are behind a router that drops packets (as root); with `--own-disk` the data
are on a small disk, which is filled (as root), while the database is SQLite's or `--postgres`. Each drill starts an
installation, clients that write and read, and a search; then something goes wrong, and ends. Afterwards what was
acknowledged is there once, the search ends with a model, and all that clients were told is a success, 429 or 503, or
507 where the disk is full.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from sqlalchemy import NullPool, create_engine, make_url, text

from tests.drills.cluster import Clients, Cluster
from tests.drills.disk import Disk
from tests.drills.network import Network
from tests.drills.postgres import own_server

Fault = Callable[[Cluster], None]
_HOUR = 3600
EVALUATIONS = 12


def kill_runners(cluster: Cluster) -> None:
    """SIGKILL each runner in turn, and start it again."""
    for name in ("runner-1", "runner-2"):
        cluster.kill(name)
        cluster.start(name)
        time.sleep(3)


def kill_api(cluster: Cluster) -> None:
    """SIGKILL the API, and start it again."""
    cluster.kill("api")
    time.sleep(1)
    cluster.start("api")
    cluster.wait_until_ready()


def end_backends(cluster: Cluster) -> None:
    """Terminate all backends of the database, five times a second for five seconds."""
    for _ in range(25):
        cluster.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        time.sleep(0.2)


def cut_database(cluster: Cluster) -> None:
    """The database cannot be reached for 15 seconds, longer than a lease."""
    assert cluster.proxy is not None
    with cluster.proxy.cut():
        time.sleep(15)


def slow_database(cluster: Cluster) -> None:
    """Everything that is sent to the database takes 200 ms more, for 20 seconds."""
    assert cluster.proxy is not None
    cluster.proxy.delay_s = 0.2
    time.sleep(20)
    cluster.proxy.delay_s = 0.0


def lock_searches(cluster: Cluster) -> None:
    """Another client of the database holds the table of searches, or all of SQLite's, for 20 seconds."""
    with cluster.locked("search"):
        time.sleep(20)


def lock_searches_long(cluster: Cluster) -> None:
    """Another client of the database holds the table of searches, or all of SQLite's, for a minute."""
    with cluster.locked("search"):
        time.sleep(60)


def fill_disk(cluster: Cluster) -> None:
    """The disk of files, and of SQLite's database, has no byte left for 15 seconds."""
    assert cluster.disk is not None
    with cluster.disk.full():
        time.sleep(15)


def suspend(cluster: Cluster) -> None:
    """All processes stand still for 15 seconds, longer than a lease."""
    cluster.signal_all(signal.SIGSTOP)
    time.sleep(15)
    cluster.signal_all(signal.SIGCONT)


def suspend_long(cluster: Cluster) -> None:
    """All processes stand still for ten minutes: connections, leases and the search's time all run out."""
    cluster.signal_all(signal.SIGSTOP)
    time.sleep(600)
    cluster.signal_all(signal.SIGCONT)


def move_clock(cluster: Cluster) -> None:
    """The clocks of all processes but the database's jump an hour ahead, two hours back, and to the true time."""
    for seconds in (_HOUR, -_HOUR, 0):
        cluster.clock.move(seconds)
        time.sleep(4)


def restart_database(cluster: Cluster) -> None:
    """The database's server is stopped, as for an update, and started five seconds later."""
    _restart(cluster, "fast")


def crash_database(cluster: Cluster) -> None:
    """The database's server ends as by a loss of power, is started five seconds later, and recovers."""
    _restart(cluster, "immediate")


def _restart(cluster: Cluster, mode: str) -> None:
    assert cluster.server is not None
    cluster.server.stop(mode)
    time.sleep(5)
    cluster.server.start()


def cut_scheduler(cluster: Cluster) -> None:
    """The runners cannot reach the scheduler for 15 seconds."""
    assert cluster.scheduler_proxy is not None
    with cluster.scheduler_proxy.cut():
        time.sleep(15)


def stall_scheduler(cluster: Cluster) -> None:
    """Nothing passes between the runners and the scheduler for 15 seconds, and no connection breaks off."""
    assert cluster.scheduler_proxy is not None
    with cluster.scheduler_proxy.stalled():
        time.sleep(15)


def drop_packets(cluster: Cluster) -> None:
    """Every packet between the runners and the scheduler is lost for 15 seconds: no end is told."""
    _drop(cluster, 15)


def drop_packets_long(cluster: Cluster) -> None:
    """Every packet is lost for a minute: longer than a connection waits for a sign of the other end."""
    _drop(cluster, 60)


def _drop(cluster: Cluster, seconds: float) -> None:
    assert cluster.network is not None
    with cluster.network.dropping():
        time.sleep(seconds)


def kill_scheduler(cluster: Cluster) -> None:
    """SIGKILL the scheduler, and start it again; the workers join it by themselves."""
    cluster.kill("scheduler")
    time.sleep(1)
    cluster.start("scheduler")


def kill_workers(cluster: Cluster) -> None:
    """SIGKILL each worker in turn, and start it again."""
    for name in ("worker-1", "worker-2"):
        cluster.kill(name)
        time.sleep(1)
        cluster.start(name)
        time.sleep(5)


ANYWHERE: Mapping[str, Fault] = {"kill-api": kill_api, "suspend": suspend, "clock": move_clock, "lock": lock_searches}
LONG: Mapping[str, Fault] = {"suspend-long": suspend_long, "lock-long": lock_searches_long}  # only if asked for
ON_POSTGRES: Mapping[str, Fault] = {
    **ANYWHERE,
    "kill-runners": kill_runners,
    "backends": end_backends,
    "cut": cut_database,
    "slow": slow_database,
}
ON_OWN_POSTGRES: Mapping[str, Fault] = {"restart": restart_database, "crash": crash_database}
ON_CLUSTER: Mapping[str, Fault] = {
    "kill-api": kill_api,
    "kill-runners": kill_runners,
    "kill-workers": kill_workers,
    "kill-scheduler": kill_scheduler,
    "cut-scheduler": cut_scheduler,
    "stall-scheduler": stall_scheduler,
    "suspend": suspend,
}
# Data on a disk of their own; only for root.
OWN_DISK = " on its own disk"
ON_OWN_DISK: Mapping[str, Fault] = {"full": fill_disk}
# Scheduler and workers on a network of their own; only for root.
ON_NETWORK: Mapping[str, Fault] = {"drop": drop_packets, "drop-long": drop_packets_long}

FAULTS: Mapping[str, Mapping[str, Fault]] = {
    "sqlite": ANYWHERE,
    "postgresql": ON_POSTGRES,
    "own postgresql": ON_OWN_POSTGRES,
    "cluster": ON_CLUSTER,
    "network": ON_NETWORK,
    f"sqlite{OWN_DISK}": ON_OWN_DISK,
    f"postgresql{OWN_DISK}": ON_OWN_DISK,
}


@contextmanager
def installation(database: str, url: str | None) -> Iterator[Cluster]:
    """An installation on an empty database, closed and removed afterwards."""
    with ExitStack() as stack:
        folder, server = Path(stack.enter_context(tempfile.TemporaryDirectory())), None
        if database == "own postgresql":
            server = stack.enter_context(own_server(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
            url = server.url
        elif url is not None:
            url = stack.enter_context(own_database(url))
        network = None
        if database == "network":
            network = Network()
            stack.callback(network.close)
        disk = None
        if database.endswith(OWN_DISK):
            disk = Disk(folder / "data")
            stack.callback(disk.close)
        cluster = Cluster(folder, url, spread=database in ("cluster", "network"), network=network, disk=disk)
        stack.callback(cluster.close)
        cluster.server = server
        yield cluster


def under_load(cluster: Cluster, fault: Fault, evaluations: int) -> dict[str, Any]:
    """Have clients write and a search run while something is done to the installation; verify the audit trail."""
    found = strike(cluster, fault, evaluations)
    cluster.command("audit", "verify")
    return found


def strike(
    cluster: Cluster,
    fault: Fault,
    evaluations: int,
    *,
    after: int = 2,
    earlier: dict[str, str] | None = None,
    wait_s: float = 0.1,
) -> dict[str, Any]:
    """Have clients write and a search run; do something to the installation once there are so many evaluations.

    What was acknowledged is added to `earlier`, if that is given, and all of it must be there. Clients wait `wait_s`
    between their requests.
    """
    search = cluster.start_search(evaluations)
    with Clients(cluster, search, wait_s=wait_s) as clients:
        before = wait_for_evaluations(cluster, search, after)
        began = time.monotonic()
        fault(cluster)
        took = time.monotonic() - began
        cluster.wait_until_ready()
        ended = wait_for_end(cluster, search)
        time.sleep(1)
    kept = clients.acknowledged | (earlier or {})
    if earlier is not None:
        earlier.update(kept)
    return {
        "acknowledged": len(clients.acknowledged),
        "statuses": dict(sorted(clients.statuses.items())),
        "without response": clients.lost,
        "evaluations before": len(before),
        "fault s": round(took, 1),
        "to the end s": round(time.monotonic() - began, 1),
        "wrong": [*clients.wrong, *check(cluster, search, kept, before, ended, evaluations)],
    }


def wait_for_evaluations(cluster: Cluster, search: str, n: int = 2) -> list[dict[str, Any]]:
    """Poll a search until it has evaluations."""
    deadline = time.monotonic() + 300
    while len(found := cluster.items(f"/v1/searches/{search}/evaluations")) < n:
        assert time.monotonic() < deadline, "the search does not begin"
        time.sleep(0.1)
    return found


def wait_for_end(cluster: Cluster, search: str) -> dict[str, Any]:
    """Poll a search to its end, for some minutes."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        with suppress(httpx2.TransportError):  # a connection that was idle while all stood still is closed
            answer = cluster.client.get(f"/v1/searches/{search}")
            if answer.is_success and answer.json()["finished_at"] is not None:
                document: dict[str, Any] = answer.json()
                return document
        time.sleep(0.5)
    return {"status": "unfinished", "model_id": None, "error": None}


def check(
    cluster: Cluster,
    search: str,
    acknowledged: Mapping[str, str],
    before: list[dict[str, Any]],
    ended: dict[str, Any],
    most: int,
) -> Iterator[str]:
    """Yield what is wrong after a search has ended: nothing acknowledged may be lost, nothing be there twice."""
    if ended["status"] != "succeeded" or ended["model_id"] is None:
        yield f"the search ended as {ended['status']}: {ended['error']}"
    elif not cluster.client.get(f"/v1/models/{ended['model_id']}").is_success:
        yield "the search's model is not there"
    after = cluster.items(f"/v1/searches/{search}/evaluations")
    if any(each not in after for each in before):
        yield "an evaluation is lost or has changed"
    if len({each["id"] for each in after}) < len(after) or len(after) > most:
        yield f"{len(after)} evaluations, at most {most} were asked for"
    stored = cluster.items("/v1/test-catalogues")
    if len({each["name"] for each in stored}) < len(stored):
        yield "a catalogue is stored twice"
    if not acknowledged:
        yield "nothing was acknowledged"
    known = {each["name"]: each["id"] for each in stored}
    lost = [name for name, given in acknowledged.items() if known.get(name) != given]
    if lost:
        yield f"{len(lost)} catalogues that were acknowledged are lost"


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """An empty database on a server, dropped afterwards."""
    name, url = f"drill_{uuid4().hex[:16]}", make_url(server)
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--postgres")
    where.add_argument("--own-postgres", action="store_true")
    where.add_argument("--cluster", metavar="URL")
    where.add_argument("--network", metavar="URL")
    parser.add_argument("--own-disk", action="store_true")
    parser.add_argument("--only", nargs="+", choices=sorted({*LONG}.union(*FAULTS.values())))
    parser.add_argument("--times", type=int, default=1)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    if asked.own_postgres:
        database = "own postgresql"
    elif asked.cluster or asked.network:
        database = "cluster" if asked.cluster else "network"
    else:
        database = ("postgresql" if asked.postgres else "sqlite") + (OWN_DISK if asked.own_disk else "")
    faults, url = FAULTS[database], asked.postgres or asked.cluster or asked.network
    failed = False
    for _ in range(asked.times):
        for name, fault in {**faults, **LONG}.items():
            if name not in (asked.only or faults):
                continue
            with installation(database, url) as cluster:
                found = under_load(cluster, fault, EVALUATIONS)
            failed = failed or bool(found["wrong"])
            print(json.dumps({"fault": name, "database": database, **found}), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
