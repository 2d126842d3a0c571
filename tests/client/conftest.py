"""Clients of the application within the test's process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from autoprog import Client
from tests.api.conftest import LOCAL, driver, local_app

__all__ = ["driver", "local_app"]  # fixtures


class Unreliable(httpx2.BaseTransport):
    """A network between client and server: what happens to the next requests is said in advance.

    "lose": the server answers, and its answer is lost. "cut": the request does not arrive. Else a proxy's response.
    """

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self.coming: list[str | httpx2.Response] = []
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        what = self.coming.pop(0) if self.coming else "pass"
        if isinstance(what, httpx2.Response):
            return what
        if what == "cut":
            raise httpx2.ConnectError("connection refused")
        response = self._inner.handle_request(request)
        if what == "lose":
            raise httpx2.ReadError("connection reset")
        return response


@pytest.fixture
def network(local_app: FastAPI) -> Unreliable:
    return Unreliable(TestClient(local_app, base_url=LOCAL)._transport)


@pytest.fixture
def make_client(network: Unreliable) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(**options: float) -> Client:
        made.append(Client(LOCAL, transport=network, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client: Callable[..., Client]) -> Client:
    return make_client()
