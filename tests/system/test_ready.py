"""What a server has behind it when it says that it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.server import Server


def test_a_ready_server_has_imported_what_it_predicts_with(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        maps = Path(f"/proc/{server.process.pid}/maps")
        if not maps.exists():
            pytest.skip("only Linux tells what a process has loaded")
        loaded = maps.read_text()
    for library in ("xgboost", "lightgbm", "torch", "sklearn"):
        assert library in loaded, library
