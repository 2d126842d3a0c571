"""Processes of an installation on one machine, with what can go wrong between them, and clients that keep count."""

from __future__ import annotations

import json
import math
import mmap
import os
import random
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import httpx2
from sqlalchemy import NullPool, create_engine, make_url, text

from autoprog.cohort import cleveland
from tests.drills.disk import Disk
from tests.drills.network import Network
from tests.drills.postgres import OwnServer
from tests.system.server import ROOT

ALLOWED = frozenset({200, 201, 202, 429, 503})
SETTINGS: dict[str, Any] = {
    "seed": 5,
    "folds": 3,
    "space": {
        "imputation": ["median"],
        "features": ["none", "pca"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb", "lightgbm"],
        "calibration": ["none"],
    },
}
_CHUNK = 65_536


_PORTS = range(20_000, 32_000)  # below those that the system gives to clients, which would take one meanwhile


def free_port() -> int:
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Proxy:
    """A TCP proxy in front of a server: it can delay what clients send, hold everything up, and cut everybody off."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.delay_s = 0.0
        self._target, self._is_cut = target, False
        self._passes = threading.Event()
        self._passes.set()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Break all connections off, and refuse new ones during the block."""
        self._is_cut = True
        for pair in list(self._pairs):
            _shut(pair)
        yield
        self._is_cut = False

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Pass nothing on during the block, and break nothing off: whatever was sent arrives afterwards."""
        self._passes.clear()
        yield
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        self._listener.close()
        for pair in list(self._pairs):
            _shut(pair)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._carry, args=((client, server),), daemon=True).start()

    def _carry(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, server = pair
        self._pairs.add(pair)
        try:
            while True:
                ready, _, _ = select.select(pair, [], [])
                for end in ready:
                    content = end.recv(_CHUNK)
                    if not content:
                        return
                    self._passes.wait()
                    if end is client and self.delay_s:
                        time.sleep(self.delay_s)
                    (server if end is client else client).sendall(content)
        except (OSError, ValueError):
            return
        finally:
            self._pairs.discard(pair)
            _shut(pair)


def _shut(pair: tuple[socket.socket, socket.socket]) -> None:
    for end in pair:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


class Clock:
    """The wall clock of all processes of an installation, moved by a preloaded library."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._file.write_bytes(struct.pack("q", 0))
        library, source = folder / "clock.so", Path(__file__).parent / "clock.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "DRILL_CLOCK": str(self._file)}

    def move(self, seconds: int) -> None:
        """Set the clocks to the true time and so many seconds."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), 8) as place:
            place[:] = struct.pack("q", seconds)


class Cluster:
    """One API with its clients, and, on PostgreSQL, two runners with workers of their own.

    Parameters
    ----------
    folder : Path
        For data, logs and the clock.
    postgres : str or None
        URL of a database; None for SQLite, where the API runs the searches.
    searching : bool
        Whether searches run.
    spread : bool
        Whether the runners' evaluations run on two workers of a scheduler, which is reached through a proxy. This needs
        PostgreSQL.
    network : Network or None
        The network of scheduler and workers, which runners then reach without a proxy.
    disk : Disk or None
        The disk at the folder of the data.
    root : Path
        Repository whose code the API and the runners run.
    """

    def __init__(
        self,
        folder: Path,
        postgres: str | None,
        *,
        searching: bool = True,
        spread: bool = False,
        network: Network | None = None,
        disk: Disk | None = None,
        root: Path = ROOT,
    ) -> None:
        self.network, self.disk = network, disk
        self._commands: dict[str, tuple[str, ...]] = {}
        self.folder, self.clock, self.proxy, self.scheduler_proxy = folder, Clock(folder), None, None
        self.direct_url, self.url, self.root = postgres, None, root
        self.server: OwnServer | None = None  # the database's, where the drill may stop it
        if postgres is not None:
            server = make_url(postgres)
            self.proxy = Proxy((server.host or "127.0.0.1", server.port or 5432))
            self.url = server.set(host="127.0.0.1", port=self.proxy.port).render_as_string(hide_password=False)
            self._command("db", "upgrade", "--database", postgres)
        self.port = free_port()
        serve = ("serve", "--port", str(self.port))
        if postgres is None and searching:
            self._commands = {"api": serve}
        else:
            self._commands = {"api": (*serve, "--no-runner")}
            more = self._spread() if spread else ()
            self._commands |= dict.fromkeys(("runner-1", "runner-2") if searching else (), ("runner", *more))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.resumed_at = 0.0  # when processes that were suspended went on; infinite meanwhile
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=90)
        try:
            for name in self._commands:
                self.start(name)
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _spread(self) -> tuple[str, ...]:
        """Add a scheduler and two workers; what runners must be told."""
        port, health = free_port(), free_port()
        host = "127.0.0.1" if self.network is None else self.network.address
        self._command("cluster", "certificates", str(self.folder / "certificates"))
        address = f"tls://{host}:{port}"
        self._commands["scheduler"] = (
            "scheduler", "--port", str(port), "--host", host, "--health", f"127.0.0.1:{health}"
        )  # fmt: skip
        self._commands |= dict.fromkeys(("worker-1", "worker-2"), ("worker", "--scheduler", address, "--slots", "1"))
        if self.network is not None:
            return ("--scheduler", address)
        self.scheduler_proxy = Proxy((host, port))
        return ("--scheduler", f"tls://{host}:{self.scheduler_proxy.port}")

    @property
    def environment(self) -> dict[str, str]:
        """Settings of every process."""
        where = {"AUTOPROG_DATA_DIR": str(self.folder / "data"), "AUTOPROG_WORKERS": "1"}
        if (self.folder / "certificates").exists():
            where["AUTOPROG_CERTIFICATES"] = str(self.folder / "certificates")
        return {**os.environ, **where, **({"AUTOPROG_DATABASE": self.url} if self.url else {})}

    def start(self, name: str) -> None:
        """Start a process, in a group of its own with its children."""
        log = (self.folder / f"{name}.log").open("ab")
        command = (sys.executable, "-m", "autoprog.cli", *self._commands[name])
        if self.network is not None and name.startswith(("scheduler", "worker")):
            command = self.network.command(*command)
        self.processes[name] = subprocess.Popen(
            command,
            cwd=self.root, env=self._with_code({**self.environment, **self.clock.environment}),
            start_new_session=True,
            stdout=log, stderr=log,
        )  # fmt: skip
        log.close()

    def _with_code(self, environment: dict[str, str]) -> dict[str, str]:
        return {**environment, "PYTHONPATH": str(self.root)}

    def kill(self, name: str) -> None:
        """SIGKILL one process; its children end by themselves."""
        self.processes[name].kill()
        self.processes[name].wait(10)

    def end(self, name: str) -> None:
        """Ask one process to end, and wait for it."""
        self.processes[name].terminate()
        self.processes[name].wait(60)

    def signal_all(self, number: int) -> None:
        """Send a signal to every process and its children, as far as they have not ended."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        if number in {signal.SIGSTOP, signal.SIGCONT}:
            self.resumed_at = math.inf if number == signal.SIGSTOP else time.monotonic()

    def wait_until_ready(self, timeout_s: float = 240) -> None:
        """Wait for the API."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with suppress(httpx2.TransportError):
                if self.client.get("/readyz").is_success:
                    return
            if self.processes["api"].poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError((self.folder / "api.log").read_text()[-4000:])

    def close(self) -> None:
        """End all processes."""
        self.client.close()
        self.signal_all(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        for proxy in (self.proxy, self.scheduler_proxy):
            if proxy is not None:
                proxy.close()

    def command(self, *arguments: str) -> str:
        """Run a command of an operator; return what it prints."""
        return self._command(*arguments)

    def _command(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "autoprog.cli", *arguments]
        environment = self._with_code(self.environment)
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sql(self, statement: str) -> None:
        """Execute a statement in the database itself, past the proxy."""
        engine = create_engine(self.direct_url or "", poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Hold an exclusive lock on a table during the block; in SQLite no one else can write anything."""
        if self.direct_url is None:
            path = self.folder / "data" / "autoprog.db"
            with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as writer:
                writer.execute("BEGIN EXCLUSIVE")
                yield
            return
        engine = create_engine(self.direct_url, poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            yield

    def start_search(self, evaluations: int, time_s: int = 60) -> str:
        """Start a search on the bundled cohort."""
        content, spec = cleveland()
        part = spec.model_dump_json(exclude_unset=True)
        files: dict[str, Any] = {"file": ("cleveland.csv.gz", content), "spec": (None, part)}
        cohort = self.client.post("/v1/cohorts", files=files).raise_for_status().json()["id"]
        asked = {"cohort_id": cohort, **SETTINGS, "budget": {"evaluations": evaluations, "time_s": time_s}}
        search: str = self.client.post("/v1/searches", json=asked).raise_for_status().json()["id"]
        return search

    def items(self, path: str) -> list[dict[str, Any]]:
        """Read a whole list."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] | None = {}
        while cursor is not None:
            page = self.client.get(path, params={"limit": "200", **cursor}).raise_for_status().json()
            found += page["items"]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        return found


class Clients:
    """Clients that write and read while something goes wrong: what was acknowledged, and what they were told.

    Each writes catalogues of tests with an Idempotency-Key, repeated until it is acknowledged, as the client library
    does, and waits before the next one; others read half as often.
    """

    def __init__(self, cluster: Cluster, search: str, n: int = 3, wait_s: float = 0.1) -> None:
        self.acknowledged: dict[str, str] = {}  # name -> identifier
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.lost = 0  # requests without a response
        self._ended, self._cluster, self._search, self._wait_s = threading.Event(), cluster, search, wait_s
        self._threads = [threading.Thread(target=self._write) for _ in range(n)]
        self._threads += [threading.Thread(target=self._read) for _ in range(n)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        with httpx2.Client(base_url=self._cluster.client.base_url, timeout=90) as client:
            while not self._ended.wait(self._wait_s):
                name, key = uuid4().hex, {"Idempotency-Key": uuid4().hex}
                asked = {"name": name, "tests": [{"name": "a", "cost": 1}]}
                asked_at = time.monotonic()
                while time.monotonic() < max(asked_at, self._cluster.resumed_at) + 300:
                    answer = self._ask(client, "POST", "/v1/test-catalogues", json=asked, headers=key)
                    if answer is not None and answer.is_success:
                        self.acknowledged[name] = answer.json()["id"]
                        break
                    time.sleep(0.2)
                else:
                    self.wrong.append("a request was not acknowledged within 300 s")

    def _read(self) -> None:
        with httpx2.Client(base_url=self._cluster.client.base_url, timeout=90) as client:
            while not self._ended.wait(2 * self._wait_s):
                self._ask(client, "GET", f"/v1/searches/{self._search}")

    def _ask(self, client: httpx2.Client, method: str, path: str, **more: Any) -> httpx2.Response | None:
        try:
            answer = client.request(method, path, **more)
        except httpx2.TransportError:
            self.lost += 1
            return None
        self.statuses[answer.status_code] += 1
        # The same request, sent before, is running: the client library repeats it then, too.
        is_repeated = answer.status_code == 409 and "Idempotency-Key" in answer.text
        is_full = answer.status_code == 507 and self._cluster.disk is not None
        if answer.status_code not in ALLOWED and not (is_repeated or is_full):
            self.wrong.append(f"{method} {path.split('/')[2]}: {answer.status_code} {json.dumps(answer.text[:300])}")
        return answer
