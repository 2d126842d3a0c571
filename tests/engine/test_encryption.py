"""A cluster with certificates: its own processes work together, and nobody else is let in."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from distributed.comm.registry import get_backend
from tornado.iostream import IOStream

from autoprog.engine.cluster import ClusterEngine, make_certificates
from autoprog.engine.cluster.encryption import read_certificates
from autoprog.errors import EngineUnavailableError, InvalidInputError
from tests.engine.cluster import PATIENCE_S, ROOT, end_process, free_port, wait_until

AUTOPROG = [sys.executable, "-m", "autoprog.cli"]


def test_keys_are_private_and_certificates_end(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    ends_at = make_certificates(folder, days=30)
    assert timedelta(days=29) < ends_at - datetime.now(UTC) < timedelta(days=31)
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "ca.pem": 0o600, "node.pem": 0o600, "node-key.pem": 0o600
    }  # fmt: skip
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "node.pem", folder / "node-key.pem")
    first = (folder / "node.pem").read_bytes()
    make_certificates(folder, days=30)
    assert (folder / "node.pem").read_bytes() != first


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    assert read_certificates(None) is None
    with pytest.raises(InvalidInputError, match="autoprog cluster certificates"):
        read_certificates(tmp_path)
    with pytest.raises(InvalidInputError, match="AUTOPROG_CERTIFICATES"):
        ClusterEngine("tls://127.0.0.1:1", certificates=tmp_path)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, days=1)
    return folder


@pytest.fixture(scope="module")
def address(certificates: Path) -> Iterator[str]:
    port, health = free_port(), free_port()
    address = f"tls://127.0.0.1:{port}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
    environment = {**inherited, "AUTOPROG_CERTIFICATES": str(certificates)}
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--health", f"127.0.0.1:{health}"],
        ["worker", "--scheduler", address, "--slots", "1", "--host", "127.0.0.1"],
    ]
    processes = [subprocess.Popen([*AUTOPROG, *command], cwd=ROOT, env=environment) for command in commands]
    with ClusterEngine(address, certificates=certificates, patience_s=PATIENCE_S) as engine:
        wait_until(lambda: engine.health().slots == 1)
    yield address
    for process in reversed(processes):
        end_process(process)
        assert process.returncode == 0


def test_those_with_a_certificate_work_together(address: str, certificates: Path) -> None:
    with ClusterEngine(address, certificates=certificates) as engine:
        assert engine.slots == 1


@pytest.mark.parametrize("stranger", ["plain", "another authority"])
def test_nobody_else_is_let_in(address: str, tmp_path: Path, stranger: str) -> None:
    if stranger == "plain":
        engine = ClusterEngine(address.replace("tls://", "tcp://"), patience_s=1)
    else:
        make_certificates(tmp_path, days=1)
        engine = ClusterEngine(address, certificates=tmp_path, patience_s=1)
    with engine:
        assert not engine.health().reachable
        with pytest.raises(EngineUnavailableError):
            _ = engine.slots


def test_a_scheduler_that_hangs_up_before_the_handshake_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    start_tls = IOStream.start_tls

    def hang_up(stream: IOStream, *arguments: Any, **options: Any) -> Any:
        stream.close()
        return start_tls(stream, *arguments, **options)

    monkeypatch.setattr(IOStream, "start_tls", hang_up)
    backend = get_backend("autoprog+tls")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        connecting = backend.get_connector().connect(
            address, opened=set(), ssl_context=ssl.create_default_context(), require_encryption=True
        )
        with pytest.raises(OSError, match="closed the connection"):
            asyncio.run(connecting)


def read_without_certificate(address: str, authority: Path) -> bytes:
    context = ssl.create_default_context(cafile=str(authority))
    context.check_hostname = False
    host, port = address.removeprefix("tls://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        return encrypted.recv(1)


def test_a_connection_without_a_certificate_is_ended(address: str, certificates: Path) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        read_without_certificate(address, certificates / "ca.pem")
