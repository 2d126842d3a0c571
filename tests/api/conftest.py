"""A server within the test's process, on each kind of database in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import create_app
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import KeyRepository
from tests.api.searching import Driver

LOCAL = "http://127.0.0.1:8000"

MakeClient = Callable[..., TestClient]


@pytest.fixture
def local_app(database: Database, files: Files) -> FastAPI:
    return create_app(Settings(upload_mb=1), database, files, local_owner=True)


@pytest.fixture
def client(local_app: FastAPI) -> TestClient:
    """The one owner of a server on this machine."""
    return TestClient(local_app, base_url=LOCAL)


@pytest.fixture
def keyed_app(database: Database, files: Files) -> FastAPI:
    return create_app(Settings(upload_mb=1), database, files, local_owner=False)


@pytest.fixture
def client_of(database: Database, keyed_app: FastAPI) -> MakeClient:
    """Makes clients of a server that asks for keys."""

    def make(owner: str, *scopes: str) -> TestClient:
        with database.session() as session:
            _, key = KeyRepository(session).create(owner, scopes or ("read", "write", "predict"))
        return TestClient(keyed_app, base_url="https://example.org", headers={"Authorization": f"Bearer {key}"})

    return make


@pytest.fixture
def driver(database: Database, files: Files) -> Driver:
    """Plays the runner."""
    return Driver(database, files)
