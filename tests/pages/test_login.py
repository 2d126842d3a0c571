"""Sessions of browsers: who gets one, what it protects, and when it ends."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from autoprog.storage.database import Database, database_now
from autoprog.storage.repositories import AuditRepository, KeyRepository
from autoprog.storage.tables import BrowserSessionRow
from tests.pages.test_frame import BROWSER

HTTPS = "https://example.org"
SAME = {**BROWSER, "Origin": HTTPS, "Sec-Fetch-Site": "same-origin"}
COOKIE = "__Host-session"


@pytest.fixture
def key(database: Database) -> str:
    with database.session() as session:
        return KeyRepository(session).create("ada", ("read", "write", "predict", "approve"))[1]


@pytest.fixture
def visitor(keyed_app: FastAPI, key: str) -> TestClient:
    return TestClient(keyed_app, base_url=HTTPS, follow_redirects=False)


def log_in(visitor: TestClient, key: str, **form: str) -> str:
    response = visitor.post("/login", data={"key": key, **form}, headers=SAME)
    assert response.status_code == 303, response.text
    return response.headers["location"]


def token_of(visitor: TestClient) -> str:
    found = re.search(r'name="csrf-token" content="([^"]+)"', visitor.get("/", headers=BROWSER).text)
    assert found is not None
    return found[1]


def test_without_a_session_a_browser_is_led_to_the_log_in_and_back(visitor: TestClient, key: str) -> None:
    sent = visitor.get("/searches?q=a", headers=BROWSER)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Fsearches%3Fq%3Da")
    assert log_in(visitor, key, next="/searches?q=a") == "/searches?q=a"
    assert visitor.get("/searches?q=a", headers=BROWSER).status_code == 200


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(visitor: TestClient, key: str) -> None:
    response = visitor.post("/login", data={"key": key}, headers=SAME)
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Secure", "Path=/"))
    assert key not in cookie


def test_the_database_holds_no_token(visitor: TestClient, key: str, database: Database) -> None:
    log_in(visitor, key)
    token = visitor.cookies[COOKIE]
    with database.session(read_only=True) as session:
        row = session.scalars(select(BrowserSessionRow)).one()
        assert token not in {str(getattr(row, column.key)) for column in BrowserSessionRow.__table__.columns}


@pytest.mark.parametrize("wrong", ["", "nothing", "ap_0_0", "x" * 5000])
def test_a_wrong_key_opens_nothing(visitor: TestClient, wrong: str, database: Database) -> None:
    response = visitor.post("/login", data={"key": wrong}, headers=SAME)
    assert response.status_code == 401
    assert "set-cookie" not in response.headers
    with database.session(read_only=True) as session:
        assert session.scalars(select(BrowserSessionRow)).all() == []


def test_wrong_keys_are_limited(visitor: TestClient) -> None:
    codes = [visitor.post("/login", data={"key": "ap_0_0"}, headers=SAME).status_code for _ in range(70)]
    assert set(codes) == {401, 429}
    assert codes[-1] == 429


@pytest.mark.parametrize("place", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a b"])
def test_the_way_back_stays_on_this_server(visitor: TestClient, key: str, place: str) -> None:
    assert log_in(visitor, key, next=place) == "/"


def test_a_session_that_somebody_else_has_planted_is_not_used(
    visitor: TestClient, keyed_app: FastAPI, key: str
) -> None:
    attacker = TestClient(keyed_app, base_url=HTTPS, follow_redirects=False)
    log_in(attacker, key)
    planted = attacker.cookies[COOKIE]
    done = visitor.post("/login", data={"key": key}, headers={**SAME, "Cookie": f"{COOKIE}={planted}"})
    assert done.status_code == 403, "it lacks the token of the planted session"
    assert "set-cookie" not in done.headers


@pytest.mark.parametrize(
    ("headers", "with_token"),
    [
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": HTTPS, "Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({}, True),
        ({"Origin": HTTPS, "Sec-Fetch-Site": "same-origin"}, False),
    ],
    ids=["another origin", "cross-site", "same-site", "tells nothing", "no token"],
)
def test_a_change_needs_a_page_of_this_session(
    visitor: TestClient, key: str, headers: dict[str, str], with_token: bool
) -> None:
    log_in(visitor, key)
    form = {"csrf_token": token_of(visitor)} if with_token else {}
    refused = visitor.post("/logout", data=form, headers={**BROWSER, **headers})
    assert refused.status_code == 403
    assert visitor.get("/", headers=BROWSER).status_code == 200
    done = visitor.post("/logout", data={"csrf_token": token_of(visitor)}, headers=SAME)
    assert done.status_code == 303
    assert visitor.get("/", headers=BROWSER).status_code == 303


def test_a_token_of_another_session_does_not_serve(visitor: TestClient, keyed_app: FastAPI, key: str) -> None:
    other = TestClient(keyed_app, base_url=HTTPS, follow_redirects=False)
    log_in(visitor, key)
    log_in(other, key)
    assert visitor.post("/logout", data={"csrf_token": token_of(other)}, headers=SAME).status_code == 403


def test_a_session_ends_with_its_key(visitor: TestClient, key: str, database: Database) -> None:
    log_in(visitor, key)
    with database.session() as session:
        KeyRepository(session).revoke(key.split("_")[1])
    assert visitor.get("/", headers=BROWSER).status_code == 303


def test_a_session_ends_when_it_is_idle(visitor: TestClient, key: str, database: Database) -> None:
    log_in(visitor, key)
    with database.session() as session:
        long_ago = database_now(session) - timedelta(days=2)
        session.execute(update(BrowserSessionRow).values(used_at=long_ago))
    assert visitor.get("/", headers=BROWSER).status_code == 303


def test_a_session_does_not_serve_the_rest_api(visitor: TestClient, key: str) -> None:
    log_in(visitor, key)
    assert visitor.get("/v1/cohorts").status_code == 401


def test_a_key_that_may_only_read_changes_nothing(visitor: TestClient, database: Database) -> None:
    with database.session() as session:
        reading = KeyRepository(session).create("ada", ("read",))[1]
    log_in(visitor, reading)
    form = {"csrf_token": token_of(visitor)}
    assert visitor.post(f"/models/{'0' * 32}/delete", data=form, headers=SAME).status_code == 403
    assert visitor.get(f"/models/{'0' * 32}/calculator", headers=BROWSER).status_code == 403


def test_log_ins_and_failures_are_in_the_audit_trail(visitor: TestClient, key: str, database: Database) -> None:
    visitor.post("/login", data={"key": key[:-1]}, headers=SAME)
    log_in(visitor, key)
    with database.session(read_only=True) as session:
        events = [row for row in AuditRepository(session).after(0) if row.action == "POST /login"]
        assert [event.result for event in events] == ["401", "303"]
        assert events[1].key_id == key.split("_")[1]
