"""A server within the test's process, on each kind of database in turn."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from api.app import create_app
from api.context import build_context
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import KeyRepository
from tests.api.searching import Driver

LOCAL = "http://127.0.0.1:8000"

MakeClient = Callable[..., TestClient]


_APPS: dict[bool, FastAPI] = {}


def _app(database: Database, files: Files, *, local_owner: bool) -> FastAPI:
    """The same one for all tests, over other data: to build it and to answer its first request takes time."""
    settings = Settings(upload_mb=1)
    if local_owner not in _APPS:
        _APPS[local_owner] = create_app(settings, database, files, local_owner=local_owner)
    app = _APPS[local_owner]
    app.state.context = build_context(settings, database, files, local_owner=local_owner)
    return app


@pytest.fixture
def local_app(database: Database, files: Files) -> FastAPI:
    return _app(database, files, local_owner=True)


@pytest.fixture
def client(local_app: FastAPI) -> TestClient:
    """The one owner of a server on this machine."""
    return TestClient(local_app, base_url=LOCAL)


@pytest.fixture
def keyed_app(database: Database, files: Files) -> FastAPI:
    return _app(database, files, local_owner=False)


@pytest.fixture
def client_of(database: Database, keyed_app: FastAPI) -> MakeClient:
    """Makes clients of a server that asks for keys."""

    def make(owner: str, *scopes: str) -> TestClient:
        with database.session() as session:
            _, key = KeyRepository(session).create(owner, scopes or ("read", "write", "predict"))
        return TestClient(keyed_app, base_url="https://example.org", headers={"Authorization": f"Bearer {key}"})

    return make


def routes_of(router: FastAPI | APIRouter) -> Iterator[APIRoute]:
    """All routes, those of included routers among them."""
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield route
        elif included := getattr(route, "original_router", None):
            yield from routes_of(included)


@contextmanager
def serving(app: FastAPI) -> Iterator[int]:
    """A real server; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield int(listener.getsockname()[1])
    server.should_exit = True
    thread.join(20)
    listener.close()
    assert not thread.is_alive(), "the server still waits for a request"


@pytest.fixture
def port(local_app: FastAPI) -> Iterator[int]:
    """A real server on a free port."""
    with serving(local_app) as port:
        yield port


@pytest.fixture
def driver(database: Database, files: Files) -> Driver:
    """Plays the runner."""
    return Driver(database, files)
