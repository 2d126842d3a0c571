"""How many requests an owner may send, and an address without a key."""

from __future__ import annotations

import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import api.context
from api.app import create_app
from api.rate import Rate
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import MakeClient


@pytest.fixture
def keyed_app(database: Database, files: Files, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setattr(api.context, "_FAILURES_A_MINUTE", 3)
    return create_app(Settings(requests_a_minute=5), database, files, local_owner=False)


def test_so_many_in_a_minute_and_then_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = Rate(6)
    assert [rate.take("ada") for _ in range(7)] == [0, 0, 0, 0, 0, 0, pytest.approx(10)]
    assert rate.take("bob") == 0
    now += 9
    assert rate.take("ada") == pytest.approx(1)
    now += 1
    assert [rate.take("ada") for _ in range(2)] == [0, pytest.approx(10)]
    now += 60
    assert [rate.take("ada") > 0 for _ in range(7)] == [False] * 6 + [True]


def test_without_a_limit_there_is_none() -> None:
    assert {Rate(None).take("ada") for _ in range(1000)} == {0.0}


def test_an_owner_who_asks_too_often_is_put_off_and_the_others_are_not(client_of: MakeClient) -> None:
    ada, also_ada, bob = client_of("ada"), client_of("ada"), client_of("bob")
    # One that sends JSON counts once, though its sender is looked at twice.
    statuses = [ada.post("/v1/searches", json={}).status_code for _ in range(3)]
    statuses += [also_ada.get("/v1/cohorts").status_code for _ in range(2)]
    assert statuses == [422, 422, 422, 200, 200]
    refused = ada.get("/v1/cohorts")
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-requests")
    assert 0 < int(refused.headers["retry-after"]) <= 12
    assert bob.get("/v1/cohorts").status_code == 200
    assert ada.get("/livez").status_code == 200


def test_an_address_without_a_key_is_put_off_and_a_key_from_there_is_not(
    keyed_app: FastAPI, client_of: MakeClient
) -> None:
    stranger = TestClient(keyed_app)
    assert [stranger.get("/v1/cohorts").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    assert client_of("ada").get("/v1/cohorts").status_code == 200
