"""A disk that is full, and then is not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from autoprog.errors import StorageFullError
from autoprog.settings import Settings
from autoprog.storage import files as files_module
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.store import DatabaseStore
from tests.api.conftest import LOCAL
from tests.api.searching import make_search, multipart

MIB = 2**20
KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only a superuser may mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_what_cannot_be_stored_is_told_and_nothing_is_lost(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MIN_FREE", MIB)
    with closing(Database(f"sqlite:///{disk / 'autoprog.db'}")) as database:
        database.migrate()
        files = Files(str(disk / "files"))
        client = TestClient(create_app(Settings(), database, files, local_owner=True), base_url=LOCAL)
        search = make_search(client)
        assert client.get("/readyz").status_code == 200
        _fill(disk / "ballast")
        refused = client.post("/v1/cohorts", files=multipart(), headers=KEY)
        assert (refused.status_code, refused.json()["type"]) == (507, "/problems/storage-full")
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["detail"] == "no room is left for database, stored files"
        assert DatabaseStore(database, files).claim("runner", 10.0) is None
        assert client.get(f"/v1/searches/{search['id']}").json()["status"] == "queued"
        (disk / "ballast").unlink()
        assert client.get("/readyz").status_code == 200
        made = client.post("/v1/cohorts", files=multipart(), headers={"Idempotency-Key": "another"})
        assert made.status_code == 201
        assert DatabaseStore(database, files).claim("runner", 10.0) is not None


def test_a_file_without_room_is_told_from_other_errors(disk: Path) -> None:
    files = Files(str(disk))
    with pytest.raises(StorageFullError, match="No space left"):
        files.put("cohorts", bytes(9 * MIB))
    assert [path for path in disk.rglob("*") if path.is_file()] == []
    assert files.put("cohorts", bytes(MIB))
