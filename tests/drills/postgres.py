"""A PostgreSQL server of the drills' own, which they may stop."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OwnServer:
    """A server in a folder, with one database.

    Parameters
    ----------
    folder : Path
        Empty; the server's data and log. Where the drills run as root it becomes the user `postgres`'s.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._programs = folder, _programs()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        if os.getuid() == 0:
            self._run("chown", "postgres", str(folder), as_root=True)
        self._run(
            str(self._programs / "initdb"), "-D", str(folder / "data"), "-U", "drill", "--auth=trust", "-E", "UTF8"
        )
        self.start()
        self._run(str(self._programs / "createdb"), "-h", "127.0.0.1", "-p", str(self._port), "-U", "drill", "drill")
        self.url = f"postgresql+psycopg://drill@127.0.0.1:{self._port}/drill"

    def start(self) -> None:
        """Start, and wait for it."""
        settings = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._folder}"
        log = str(self._folder / "log")
        self._control("start", "-w", "-t", "120", "-l", log, "-o", settings)

    def stop(self, mode: str) -> None:
        """Stop `fast`, as an update of the system does, or `immediate`, as a loss of power."""
        self._control("stop", "-m", mode, "-w", "-t", "120")

    def _control(self, *arguments: str) -> None:
        self._run(str(self._programs / "pg_ctl"), *arguments, "-s", "-D", str(self._folder / "data"))

    def _run(self, *command: str, as_root: bool = False) -> None:
        # initdb refuses to run as root.
        prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 and not as_root else []
        subprocess.run([*prefix, *command], cwd="/", check=True, stdout=subprocess.DEVNULL)


@contextmanager
def own_server(folder: Path) -> Iterator[OwnServer]:
    """A server that ends with the block."""
    server = OwnServer(folder)
    try:
        yield server
    finally:
        server.stop("immediate")


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    assert found, "PostgreSQL's server is not installed"
    return found[-1].parent
