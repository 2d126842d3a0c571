"""What a server has behind it when it says that it is ready."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.deployment.installation import free_ports
from tests.system.server import Server


def test_a_ready_server_has_imported_what_it_predicts_with(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        maps = Path(f"/proc/{server.process.pid}/maps")
        if not maps.exists():
            pytest.skip("only Linux tells what a process has loaded")
        loaded = maps.read_text()
    for library in ("xgboost", "lightgbm", "torch", "sklearn"):
        assert library in loaded, library


def test_operators_look_at_an_address_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("AUTOPROG_OPERATIONS", f"127.0.0.1:{port}")
    with Server(tmp_path / "data") as server:
        assert httpx2.get(f"http://127.0.0.1:{port}/metrics").is_success
        assert server.client.get("/metrics").status_code == 404
        server.process.terminate()
        assert server.process.wait(30) == 0
