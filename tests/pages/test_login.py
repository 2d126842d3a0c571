"""Log-in by key: sessions, the guards against other sites, settings and the audit trail of an owner."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select, update

from api.app import create_app
from api.pages.sessions import local_path
from api.rate import Rate
from autoprog.scopes import SCOPES
from autoprog.settings import Settings
from autoprog.storage.connections import WRITER
from autoprog.storage.database import Database, database_now
from autoprog.storage.files import Files
from autoprog.storage.repositories import AuditRepository, BrowserSessionRepository, KeyRepository
from autoprog.storage.tables import ApiKeyRow, BrowserSessionRow
from tests.api.searching import Driver, make_cohort, make_search

SITE = "https://example.org"
COOKIE = "__Host-session"


def browse(app: FastAPI) -> TestClient:
    """A browser that says from which page its requests come."""
    headers = {"Accept": "text/html", "Origin": SITE, "Sec-Fetch-Site": "same-origin"}
    return TestClient(app, base_url=SITE, headers=headers, follow_redirects=False)


def make_key(database: Database, owner: str = "ada", *scopes: str, life: timedelta | None = None) -> tuple[str, str]:
    with database.session() as session:
        row, key = KeyRepository(session).create(owner, scopes or ("read", "write", "predict", "admin"), life=life)
        return row.id, key


def log_in(app: FastAPI, key: str) -> TestClient:
    browser = browse(app)
    assert browser.post("/login", data={"key": key}).status_code == 303
    return browser


def token(browser: TestClient) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', browser.get("/settings").text)
    assert found is not None
    return found[1]


def post(browser: TestClient, path: str, **fields: object) -> Response:
    return browser.post(path, data={"csrf_token": token(browser), **fields})


def test_settings_name_every_scope(keyed_app: FastAPI, database: Database) -> None:
    _, key = make_key(database, "ada", *SCOPES)
    page = log_in(keyed_app, key).get("/settings").text
    assert page.count("approve models") == 2
    assert [scope for scope in SCOPES if f'name="scopes" value="{scope}"' not in page] == []


def test_pages_ask_for_a_log_in_and_come_back(keyed_app: FastAPI, database: Database) -> None:
    _, key = make_key(database)
    browser = browse(keyed_app)
    asked = browser.get("/cohorts?q=liver")
    assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=%2Fcohorts%3Fq%3Dliver")
    form = browser.get(asked.headers["location"])
    assert 'name="next" value="/cohorts?q=liver"' in form.text
    done = browser.post("/login", data={"key": f" {key}\n", "next": "/cohorts?q=liver"})
    assert (done.status_code, done.headers["location"]) == (303, "/cohorts?q=liver")
    assert browser.get("/cohorts?q=liver").status_code == 200
    assert browser.get("/login").headers["location"] == "/"
    by_htmx = browse(keyed_app).get("/cohorts", headers={"HX-Request": "true", "HX-Current-URL": f"{SITE}/models/1"})
    assert by_htmx.headers["hx-redirect"] == "/login?next=%2Fmodels%2F1"


def test_cookie_is_hidden_from_scripts_and_other_sites_and_its_token_is_not_stored(
    keyed_app: FastAPI, database: Database
) -> None:
    browser = log_in(keyed_app, make_key(database)[1])
    secret = browser.cookies[COOKIE]
    answer = browse(keyed_app).post("/login", data={"key": make_key(database)[1]})
    flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "secure", "samesite=strict", "path=/", "max-age=604800"} <= flags
    with database.session(read_only=True) as session:
        rows = session.scalars(select(BrowserSessionRow)).all()
    assert len(rows) == 2
    assert all(secret not in (row.id, row.token_sha256, row.csrf_token) for row in rows)


@pytest.mark.parametrize(
    "place",
    ["//evil.org", "https://evil.org", "/\\evil.org", "\\\\evil.org", "/\t/evil.org", "javascript:alert(1)", ""],
)
def test_log_in_leads_to_no_other_site(keyed_app: FastAPI, database: Database, place: str) -> None:
    assert local_path(place) == "/"
    answer = browse(keyed_app).post("/login", data={"key": make_key(database)[1], "next": place})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_wrong_key_is_refused_told_and_limited(database: Database, files: Files) -> None:
    app = create_app(Settings(), database, files, local_owner=False)
    key_id, key = make_key(database)
    browser = browse(app)
    wrong = browser.post("/login", data={"key": f"ap_{key_id}_guess", "next": "/models"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    assert "This key is unknown or has ended." in wrong.text
    assert 'value="/models"' in wrong.text
    assert "guess" not in wrong.text
    # One more is allowed a second: on a slow machine it takes more than sixty.
    tries = (browser.post("/login", data={"key": "ap_x"}).status_code for _ in range(400))
    refused = next((number, code) for number, code in enumerate(tries) if code != 401)
    assert refused[0] >= 50
    assert refused[1] == 429
    assert browser.post("/login", data={"key": key}).status_code == 303, "a valid key is taken all the same"


def test_who_tries_many_keys_waits_for_no_writer(keyed_app: FastAPI, database: Database) -> None:
    browser = browse(keyed_app)
    keyed_app.state.context = replace(keyed_app.state.context, failures=Rate(1))
    guess = {"key": f"ap_{'0' * 32}_x"}
    assert browser.post("/login", data=guess).status_code == 401
    with database.session() as session:
        session.execute(update(ApiKeyRow).values(used_at=ApiKeyRow.used_at))  # SQLite has one writer
        began = time.monotonic()
        assert browser.post("/login", data=guess).status_code == 429
        assert time.monotonic() - began < WRITER.lock_s


def test_log_in_gives_a_new_session_and_ends_the_one_before(keyed_app: FastAPI, database: Database) -> None:
    key = make_key(database)[1]
    browser = browse(keyed_app)
    browser.cookies.set(COOKIE, "planted", domain="example.org")
    answer = browser.post("/login", data={"key": key})
    first = re.search(rf"{COOKIE}=([^;]+)", answer.headers["set-cookie"])
    assert first is not None
    assert first[1] != "planted"
    browser = log_in(keyed_app, key)
    before = browser.cookies[COOKIE]
    post(browser, "/login", key=key)
    assert browser.cookies[COOKIE] != before
    other = browse(keyed_app)
    other.cookies.set(COOKIE, before, domain="example.org")
    assert other.get("/settings").status_code == 303


def test_session_that_another_has_planted_is_not_taken_over(keyed_app: FastAPI, database: Database) -> None:
    key = make_key(database)[1]
    planted = log_in(keyed_app, key).cookies[COOKIE]
    victim = browse(keyed_app)
    answer = victim.post("/login", data={"key": key}, headers={"Cookie": f"{COOKIE}={planted}"})
    assert answer.status_code == 403, "it lacks the token of the planted session"
    assert "set-cookie" not in answer.headers


def test_session_does_not_serve_the_rest_api(keyed_app: FastAPI, database: Database) -> None:
    assert log_in(keyed_app, make_key(database)[1]).get("/v1/cohorts").status_code == 401


def test_change_needs_the_token_of_its_session(keyed_app: FastAPI, database: Database) -> None:
    key = make_key(database)[1]
    browser, other = log_in(keyed_app, key), log_in(keyed_app, key)
    for sent in ({}, {"csrf_token": ""}, {"csrf_token": "guess"}, {"csrf_token": token(other)}):
        assert browser.post("/settings/keys", data={"scopes": "read", **sent}).status_code == 403
        assert browser.post("/logout", data=sent).status_code == 403
        assert browser.post("/language", data={"language": "en", **sent}).status_code == 403
    assert browser.post("/settings/keys", json={"scopes": "read", "csrf_token": token(browser)}).status_code == 403
    with database.session(read_only=True) as session:
        assert len(session.scalars(select(ApiKeyRow)).all()) == 1
    header = {"X-CSRF-Token": token(browser)}
    assert browser.post("/settings/keys", data={"scopes": "read"}, headers=header).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.org"},
        {"Origin": "null"},
        {"Origin": "http://example.org"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": f"{SITE}.evil.org"},
    ],
)
def test_change_from_another_origin_is_refused(keyed_app: FastAPI, database: Database, headers: dict[str, str]) -> None:
    key = make_key(database)[1]
    browser = log_in(keyed_app, key)
    form = {"csrf_token": token(browser)}
    assert browser.post("/logout", data=form, headers=headers).status_code == 403
    assert browse(keyed_app).post("/login", data={"key": key}, headers=headers).status_code == 403
    assert browser.post("/logout", data=form).status_code == 303


def test_change_that_names_no_page_is_refused(keyed_app: FastAPI, database: Database) -> None:
    silent = TestClient(keyed_app, base_url=SITE, follow_redirects=False)
    assert silent.post("/login", data={"key": make_key(database)[1]}).status_code == 403


def test_key_in_a_header_opens_no_page(keyed_app: FastAPI, database: Database) -> None:
    bearer = {"Authorization": f"Bearer {make_key(database)[1]}"}
    assert browse(keyed_app).get("/cohorts", headers=bearer).status_code == 303
    assert browse(keyed_app).get("/v1/cohorts", headers=bearer).status_code == 200


def test_log_out_ends_the_session_on_the_server(keyed_app: FastAPI, database: Database) -> None:
    browser = log_in(keyed_app, make_key(database)[1])
    secret = browser.cookies[COOKIE]
    assert post(browser, "/logout").headers["location"] == "/login"
    browser.cookies.set(COOKIE, secret, domain="example.org")
    assert browser.get("/settings").status_code == 303


@pytest.mark.parametrize("end", ["revoked", "expired", "idle", "old"])
def test_session_ends_with_its_key_and_with_time(keyed_app: FastAPI, database: Database, end: str) -> None:
    key_id, key = make_key(database)
    browser = log_in(keyed_app, key)
    assert browser.get("/settings").status_code == 200
    with database.session() as session:
        now = database_now(session)
        if end == "revoked":
            KeyRepository(session).revoke(key_id)
        elif end == "expired":
            session.execute(update(ApiKeyRow).values(expires_at=now - timedelta(seconds=1)))
        elif end == "idle":
            session.execute(update(BrowserSessionRow).values(used_at=now - timedelta(hours=12, seconds=1)))
        else:
            session.execute(update(BrowserSessionRow).values(expires_at=now - timedelta(seconds=1)))
    assert browser.get("/settings").status_code == 303
    with database.session() as session:
        BrowserSessionRepository(session, KeyRepository(session)).delete_ended()
        assert session.scalars(select(BrowserSessionRow)).all() == []


def test_session_ends_when_the_maker_of_its_key_no_longer_logs_in(keyed_app: FastAPI, database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        ada = keys.record_person("1" * 64, "ada", "ada", ["read", "admin"])
        _, hers = keys.create("ada", ["read"], made_by=ada.id)
    browser, other = log_in(keyed_app, hers), log_in(keyed_app, make_key(database)[1])
    assert browser.get("/settings").status_code == 200
    assert other.get("/settings").text.count("/settings/sessions/") == 1
    with database.session() as session:
        session.get_one(ApiKeyRow, ada.id).used_at = database_now(session) - timedelta(days=91)
    assert browser.get("/settings").status_code == 303
    assert "/settings/sessions/" not in other.get("/settings").text
    with database.session() as session:
        BrowserSessionRepository(session, KeyRepository(session)).delete_ended()
        assert len(session.scalars(select(BrowserSessionRow)).all()) == 1


def test_sweep_keeps_live_sessions_and_use_keeps_one_alive(keyed_app: FastAPI, database: Database) -> None:
    browser = log_in(keyed_app, make_key(database)[1])
    with database.session() as session:
        session.execute(update(BrowserSessionRow).values(used_at=database_now(session) - timedelta(hours=11)))
    assert browser.get("/settings").status_code == 200
    with database.session() as session:
        BrowserSessionRepository(session, KeyRepository(session)).delete_ended()
        (row,) = session.scalars(select(BrowserSessionRow))
        assert database_now(session) - row.used_at < timedelta(minutes=1)


def test_key_that_may_only_predict_uses_the_calculator_and_nothing_else(
    keyed_app: FastAPI, database: Database, driver: Driver
) -> None:
    owner = TestClient(keyed_app, base_url=SITE, headers={"Authorization": f"Bearer {make_key(database)[1]}"})
    search = make_search(owner)
    driver.run()
    model_id = owner.get(f"/v1/searches/{search['id']}").json()["model_id"]
    bedside = log_in(keyed_app, make_key(database, "ada", "predict")[1])
    page = bedside.get(f"/models/{model_id}/calculator")
    assert page.status_code == 200
    sent = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert sent is not None
    form = {"csrf_token": sent[1], "x-0": "63"}
    answer = bedside.post(f"/models/{model_id}/calculator", data=form)
    assert answer.status_code == 200
    assert "What counts most here" in answer.text
    assert bedside.get(f"/models/{model_id}").status_code == 403
    assert bedside.post(f"/models/{model_id}/delete", data=form).status_code == 403


def test_reports_open_in_a_session_and_after_it_ask_for_the_log_in(
    keyed_app: FastAPI, database: Database, driver: Driver
) -> None:
    owner = TestClient(keyed_app, base_url=SITE, headers={"Authorization": f"Bearer {make_key(database)[1]}"})
    search = make_search(owner)
    driver.run()
    search = owner.get(f"/v1/searches/{search['id']}").json()
    address = f"/models/{search['model_id']}/validations"
    asked = {"cohort_id": search["cohort_id"]}
    validation = owner.post(f"/v1{address}", json=asked).json()
    browser = log_in(keyed_app, make_key(database, "ada", "read")[1])
    for page in (f"/searches/{search['id']}", f"{address}/{validation['id']}"):
        links = re.findall(rf'href="({page}/report[^"]*)"', browser.get(page).text)
        kinds = [browser.get(link).headers["content-type"].partition(";")[0] for link in links]
        assert kinds[::2] == ["text/html", "text/markdown"]
        assert kinds[1].endswith("wordprocessingml.document")
        figures = re.findall(r'href="(figures/[^"]+)"', browser.get(links[0]).text)
        assert {browser.get(f"{page}/{figure}").status_code for figure in figures[:2]} == {200}
        asks = browse(keyed_app).get(links[0])
        assert (asks.status_code, asks.headers["location"]) == (303, f"/login?next={quote(links[0], safe='')}")
        stranger = log_in(keyed_app, make_key(database, "bob", "read")[1])
        assert [stranger.get(f"{page}/{part}").status_code for part in ("report", figures[0])] == [404, 404]


def test_who_may_only_read_is_offered_nothing_else(keyed_app: FastAPI, database: Database, driver: Driver) -> None:
    owner = TestClient(keyed_app, base_url=SITE, headers={"Authorization": f"Bearer {make_key(database)[1]}"})
    search = make_search(owner)
    driver.run()
    search = owner.get(f"/v1/searches/{search['id']}").json()
    places = ("", "searches", f"searches/{search['id']}", "cohorts", f"cohorts/{search['cohort_id']}", "models",
              f"models/{search['model_id']}", "diagnosis", "test-selection", "test-catalogues")  # fmt: skip
    changes = re.compile(r'href="[^"]*/(?:delete|new|calculator)"|<form [^>]*method="post" action="/(?!language)')
    offered = {}
    for scopes in (("read",), ("read", "write", "predict")):
        browser = log_in(keyed_app, make_key(database, "ada", *scopes)[1])
        offered[scopes[-1]] = {place: changes.findall(browser.get(f"/{place}").text) for place in places}
    assert {place for place, found in offered["read"].items() if found} == set()
    assert {place for place, found in offered["predict"].items() if not found} == set()


def test_scopes_of_the_key_hold_on_pages(keyed_app: FastAPI, database: Database) -> None:
    browser = log_in(keyed_app, make_key(database, "ada", "read", "write")[1])
    assert browser.get("/cohorts").status_code == 200
    assert post(browser, "/settings/keys", scopes="read").status_code == 403
    assert "Make a key" not in browser.get("/settings").text
    only_predicts = log_in(keyed_app, make_key(database, "ada", "predict")[1])
    assert only_predicts.get("/cohorts").status_code == 403


def test_new_key_is_shown_once_and_is_no_stronger(keyed_app: FastAPI, database: Database) -> None:
    key_id, key = make_key(database, "ada", "read", "write", "admin", life=timedelta(days=10))
    browser = log_in(keyed_app, key)
    made = post(browser, "/settings/keys", scopes=["read", "write"], days="")
    found = re.search(r"ap_[0-9a-f]{32}_[\w-]+", made.text)
    assert found is not None
    assert found[0] not in browser.get("/settings").text
    assert log_in(keyed_app, found[0]).get("/settings").status_code == 200
    with database.session(read_only=True) as session:
        ends = {row.id: row.expires_at for row in session.scalars(select(ApiKeyRow))}
    assert len(set(ends.values())) == 1, "it ends with the key that made it"
    assert post(browser, "/settings/keys", scopes=["predict"], days="1").status_code == 403
    assert post(browser, "/settings/keys", days="1").status_code == 422
    assert post(browser, "/settings/keys", scopes=["read"], days="12").status_code == 422
    assert post(browser, f"/settings/keys/{key_id}/revocation").status_code == 303
    assert browser.get("/settings").status_code == 303, "its own key has ended"


def test_other_owners_keys_and_sessions_do_not_exist(keyed_app: FastAPI, database: Database) -> None:
    his_key_id, his_key = make_key(database, "bob")
    his = log_in(keyed_app, his_key)
    with database.session(read_only=True) as session:
        his_session_id = session.scalars(select(BrowserSessionRow.id)).one()
    ada = log_in(keyed_app, make_key(database, "ada")[1])
    assert ada.get(f"/settings/keys/{his_key_id}/revocation").status_code == 404
    assert post(ada, f"/settings/keys/{his_key_id}/revocation").status_code == 404
    assert post(ada, f"/settings/sessions/{his_session_id}/end").status_code == 404
    assert his_key_id[-8:] not in ada.get("/settings").text
    assert his.get("/settings").status_code == 200


def test_another_session_can_be_ended(keyed_app: FastAPI, database: Database) -> None:
    key = make_key(database)[1]
    lost, browser = log_in(keyed_app, key), log_in(keyed_app, key)
    ends = re.findall(r"/settings/sessions/(\w+)/end", browser.get("/settings").text)
    assert len(ends) == 1, "one's own is ended by logging out"
    assert post(browser, f"/settings/sessions/{ends[0]}/end").status_code == 303
    assert lost.get("/settings").status_code == 303
    assert browser.get("/settings").status_code == 200


def test_audit_trail_shows_an_owner_her_own_events(database: Database, files: Files) -> None:
    app = create_app(Settings(), database, files, local_owner=False)
    key_id, key = make_key(database)
    browse(app).post("/login", data={"key": f"ap_{key_id}_guess"})
    log_in(app, make_key(database, "bob")[1])
    browser = log_in(app, key)
    post(browser, "/language", language="en")
    post(browser, "/language", language="en")
    with database.session(read_only=True) as session:
        owner_id = KeyRepository(session).get(session.get_one(ApiKeyRow, key_id).owner_id, key_id).owner_id
        trail = AuditRepository(session)
        events = trail.load_page(owner_id).items
        assert [(event.action, event.result) for event in events[-2:]] == [
            ("POST /login", "303"),
            ("POST /login", "401"),
        ]
        assert {event.key_id for event in events} == {key_id}
        assert len(events) == 4
        first = trail.load_page(owner_id, limit=3)
        assert len(first.items) == 3
        rest = trail.load_page(owner_id, limit=3, before=int(first.next_cursor or 0))
        assert [*first.items, *rest.items] == list(events)
        assert rest.next_cursor is None
        assert trail.load_page(owner_id, day=events[0].at.date()).items == events
        assert trail.load_page(owner_id, day=events[0].at.date() - timedelta(days=1)).items == ()
        assert len(trail.load_page(owner_id, action="LANG").items) == 2
        assert trail.load_page(owner_id, action="%").items == ()
    page = browser.get("/audit?action=login").text
    assert page.count("POST /login") == 2
    assert browser.get("/audit?day=yesterday").status_code == 422
    assert browser.get("/audit?before=0").status_code == 422


def test_audit_trail_names_what_a_page_made_ended_or_deleted(keyed_app: FastAPI, database: Database) -> None:
    _, key = make_key(database)
    browser = log_in(keyed_app, key)
    cohort_id = make_cohort(TestClient(keyed_app, headers={"Authorization": f"Bearer {key}"}))["id"]
    made = re.search(r"ap_([0-9a-f]{32})_", post(browser, "/settings/keys", scopes=["read"], days="1").text)
    assert made is not None
    assert post(browser, f"/settings/keys/{made[1]}/revocation").status_code == 303
    assert post(browser, f"/cohorts/{cohort_id}/delete", models="keep").status_code == 303
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(ApiKeyRow.owner_id).where(ApiKeyRow.id == made[1])).one()
        newest = AuditRepository(session).load_page(owner_id, limit=3).items
    assert [(event.action, event.resource) for event in reversed(newest)] == [
        ("POST /settings/keys", made[1]),
        ("POST /settings/keys/{key_id}/revocation", made[1]),
        ("POST /cohorts/{cohort_id}/delete", cohort_id),
    ]


def test_local_server_without_keys_needs_no_log_in_but_the_right_origin(local_app: FastAPI) -> None:
    home = "http://127.0.0.1:8000"
    browser = TestClient(local_app, base_url=home, headers={"Accept": "text/html"}, follow_redirects=False)
    assert 'href="/settings"' in browser.get("/").text
    assert browser.get("/settings").status_code == 200
    assert browser.get("/login?next=/cohorts").headers["location"] == "/cohorts"
    send = {"language": "en", "back": "/cohorts"}
    assert browser.post("/language", data=send, headers={"Origin": home}).status_code == 303
    for foreign in ({"Origin": "https://evil.org"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert browser.post("/language", data=send, headers=foreign).status_code == 403


def test_local_server_asks_for_a_log_in_once_a_key_is_made(local_app: FastAPI, database: Database) -> None:
    browser = TestClient(local_app, base_url="http://127.0.0.1:8000", follow_redirects=False)
    assert browser.get("/cohorts").status_code == 200
    make_key(database)
    assert browser.get("/cohorts").status_code == 303
