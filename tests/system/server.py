"""`autoprog serve` as a process of its own, and a client of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx2
import psutil

from autoprog.cohort import cleveland

ROOT = Path(__file__).parents[2]


class Server:
    """A server on a free loopback port; `data_dir` outlives it.

    Parameters
    ----------
    data_dir : Path
        Its data folder.
    plugins : tuple of str
        Modules that register algorithms.
    root : Path
        The checkout that serves; another one is served by what it has installed itself.
    """

    def __init__(self, data_dir: Path, *, plugins: tuple[str, ...] = (), root: Path = ROOT) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {**os.environ, "AUTOPROG_PLUGINS": json.dumps(plugins), "AUTOPROG_WORKERS": "2"}
        python = sys.executable if root == ROOT else str(root / ".venv" / "bin" / "python")
        command = [python, "-m", "autoprog.cli", "serve", "--port", str(port), "--data-dir", str(data_dir)]
        self._log = (data_dir.parent / f"serve-{port}.log").open("wb")
        self.process = subprocess.Popen(command, cwd=root, env=environment, stdout=self._log, stderr=self._log)
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._wait_until_ready()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        self._log.close()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.client.get("/readyz").is_success:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.1)
        self._log.flush()
        raise AssertionError(Path(self._log.name).read_text())

    def children(self) -> list[psutil.Process]:
        """Its descendants."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> list[psutil.Process]:
        """SIGKILL; returns what were its descendants."""
        children = self.children()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        return children

    def get(self, url: str, **parameters: Any) -> Any:
        response = self.client.get(url, params=parameters)
        assert response.is_success, response.text
        return response.json()

    def post(self, url: str, **body: Any) -> Any:
        response = self.client.post(url, **body)
        assert response.is_success, response.text
        return response.json()

    def post_cleveland(self) -> str:
        content, spec = cleveland()
        part = spec.model_dump_json(exclude_unset=True)
        cohort = self.post("/v1/cohorts", files={"file": ("cleveland.csv.gz", content), "spec": (None, part)})
        return str(cohort["id"])

    def wait(self, search_id: str, timeout_s: float = 120) -> Any:
        """Poll a search to its end."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            search = self.get(f"/v1/searches/{search_id}")
            if search["finished_at"] is not None:
                return search
            time.sleep(0.1)
        raise AssertionError(f"the search did not end within {timeout_s} s: {search}")

    def evaluations(self, search_id: str) -> list[Any]:
        """All of them, in order of creation, without what depends on time."""
        items, cursor = [], {}
        while cursor is not None:
            page = self.get(f"/v1/searches/{search_id}/evaluations", limit=200, **cursor)
            items += page["items"]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        return sorted(({**e, "duration_s": None} for e in items), key=lambda e: int(e["id"]))
