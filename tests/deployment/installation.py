"""The services of docker-compose.yml as plain processes on loopback."""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import psutil
import yaml
from sqlalchemy import make_url

ROOT = Path(__file__).parents[2]
PATIENCE_S = 240
_DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


def free_ports(n: int) -> list[int]:
    """Ports of loopback that nobody listened on a moment ago."""
    probes = [socket.socket() for _ in range(n)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports: list[int] = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def wait_until(true: Callable[[], bool], what: str, timeout_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.1)


class Installation:
    """Every service runs by the command, and the names of its environment, that docker-compose.yml gives it.

    Only addresses, folders and secrets are others. A scheduler executes what it is sent, and is kept on loopback.

    Parameters
    ----------
    database_url : str
        An empty PostgreSQL database.
    folder : Path
        For data and logs; empty.
    """

    def __init__(self, database_url: str, folder: Path) -> None:
        self._services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
        self._folder = folder
        api, scheduler, dashboard = free_ports(3)
        self.url = f"http://127.0.0.1:{api}"
        self._addresses = {
            "tls://scheduler:8786": f"tls://127.0.0.1:{scheduler}",
            "/certificates": str(folder / "certificates"),
            "8786": str(scheduler),
            "127.0.0.1:8787": f"127.0.0.1:{dashboard}",
            "127.0.0.1', 8787": f"127.0.0.1', {dashboard}",
        }
        self._additions = {"api": ["--port", str(api)], "scheduler": ["--host", "127.0.0.1"]}
        url = make_url(database_url)
        self._values = {
            "AUTOPROG_DATABASE": url._replace(password=None).render_as_string(),
            "AUTOPROG_SECRETS_DIR": str(folder / "secrets"),
            "AUTOPROG_CERTIFICATES": str(folder / "certificates"),
        }
        texts = {"database_password": url.password or "none", "model_key": secrets.token_hex(32)}
        (folder / "secrets").mkdir(mode=0o700)
        for name, text in {**texts, "accepted_model_keys": "[]"}.items():
            (folder / "secrets" / f"autoprog_{name}").write_text(f"{text}\n")
            (folder / "secrets" / f"autoprog_{name}").chmod(0o600)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            for descendant in _descendants(process):
                with suppress(psutil.NoSuchProcess):  # a child whose call has ended
                    descendant.kill()
            process.kill()
            process.wait()
        if error is not None:
            logs = {log.name: log.read_text(errors="replace")[-3000:] for log in self._folder.glob("*.log")}
            error.add_note("\n".join(f"== {name}\n{text}" for name, text in logs.items()))

    def replicas(self, service: str) -> int:
        """How many of a service there are by default."""
        return int(_default(self._services[service]["deploy"]["replicas"]))

    def run(self, service: str, command: Sequence[str] | None = None) -> str:
        """Run a service, or another command in its place, to its end; returns what it printed."""
        done = subprocess.run(
            command or self._command(service),
            cwd=self._folder,
            env=self._environment(service),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, service: str, name: str | None = None) -> None:
        """Start a service, under a name of its own where there are several."""
        name = name or service
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                self._command(service), cwd=self._folder, env=self._environment(service), stdout=log, stderr=log
            )

    def wait_until_healthy(self, service: str) -> None:
        """Wait until the service's own health check passes."""
        check = [self._addressed(word) for word in self._services[service]["healthcheck"]["test"][1:]]
        environment = self._environment(service)

        def healthy() -> bool:
            assert self.processes[service].poll() is None, f"{service} ended"
            return subprocess.run(check, env=environment, capture_output=True, check=False).returncode == 0

        wait_until(healthy, f"{service} is healthy")

    def wait_until_ready(self) -> None:
        """Wait until the API can serve."""

        def ready() -> bool:
            assert self.processes["api"].poll() is None, "api ended"
            try:
                return httpx2.get(f"{self.url}/readyz").is_success
            except httpx2.TransportError:
                return False

        wait_until(ready, "the API is ready")

    def log(self, name: str) -> str:
        """What a service has logged so far."""
        return (self._folder / f"{name}.log").read_text()

    def terminate(self, names: Sequence[str], timeout_s: float = 30) -> dict[str, int]:
        """Ask services to end, one after the other; returns their exit codes once no process of theirs is left."""
        left: list[psutil.Process] = []
        for name in names:
            process = self.processes[name]
            left += _descendants(process)
            process.terminate()
            process.wait(timeout_s)
        wait_until(lambda: not any(map(_is_alive, left)), "no process is left", timeout_s)
        return {name: self.processes[name].wait() for name in names}

    def _command(self, service: str) -> list[str]:
        words = [self._addressed(word) for word in self._services[service]["command"]]
        return words + self._additions.get(service, [])

    def _addressed(self, word: str) -> str:
        for inside, outside in self._addresses.items():
            if word == inside or (inside in word and not inside.isdigit()):
                word = word.replace(inside, outside)
        return word

    def _environment(self, service: str) -> dict[str, str]:
        given: Mapping[str, str] = self._services[service].get("environment", {})
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
        return {
            **inherited,
            **{name: self._values.get(name, _default(value)) for name, value in given.items()},
            "AUTOPROG_DATA_DIR": str(self._folder / "data"),  # the Dockerfile's
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }


def _default(text: str) -> str:
    return _DEFAULT.sub(r"\1", text)


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
