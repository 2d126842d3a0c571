"""What a server has behind it when it says that it is ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.deployment.installation import free_ports
from tests.system.server import Server


@pytest.fixture(scope="module")
def operations() -> str:
    (port,) = free_ports(1)
    return f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def server(operations: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTOPROG_OPERATIONS", operations)
        started = Server(tmp_path_factory.mktemp("ready") / "data")
    with started:
        yield started
        started.process.terminate()
        assert started.process.wait(30) == 0


def test_a_ready_server_has_imported_what_it_predicts_with(server: Server) -> None:
    maps = Path(f"/proc/{server.process.pid}/maps")
    if not maps.exists():
        pytest.skip("only Linux tells what a process has loaded")
    loaded = maps.read_text()
    for library in ("xgboost", "lightgbm", "torch", "sklearn"):
        assert library in loaded, library


def test_operators_look_at_an_address_of_their_own(server: Server, operations: str) -> None:
    assert httpx2.get(f"http://{operations}/metrics").is_success
    assert server.client.get("/metrics").status_code == 404
