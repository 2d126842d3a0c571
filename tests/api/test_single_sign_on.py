"""Single sign-on: tokens of programs, log-ins of people, roles, and everything that must be refused."""

from __future__ import annotations

import base64
import dataclasses
import hmac
import html
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from joserfc.jwk import RSAKey
from pydantic import ValidationError

from api.context import build_context
from api.places import Places
from api.single_sign_on.provider import IdentityProvider, SignOn
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import AuditRepository, KeyRepository
from tests.api.identity_provider import ADA, CLIENT_ID, ISSUER, SECRET, FakeProvider
from tests.api.searching import multipart

SITE = "https://autoprog.hospital.example"
SETTINGS: dict[str, Any] = {
    "oidc_issuer": ISSUER,
    "oidc_client_id": CLIENT_ID,
    "oidc_client_secret": SECRET,
    "oidc_owner": "Ward 7",
    "oidc_scopes_claim": "roles",
    "oidc_roles": {"physician": ["read", "predict"], "lead": ["read", "write", "admin"]},
}


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def configure(
    app: FastAPI, database: Database, files: Files, provider: FakeProvider, clock: Clock, **more: Any
) -> None:
    settings = Settings(upload_mb=1, **{**SETTINGS, **more})
    context = build_context(settings, database, files, local_owner=False)
    assert settings.single_sign_on is not None
    known = IdentityProvider(settings.single_sign_on, transport=provider.transport, clock=clock)
    app.state.context = dataclasses.replace(context, identity_provider=known)


@pytest.fixture
def app(
    keyed_app: FastAPI, database: Database, files: Files, provider: FakeProvider, clock: Clock
) -> Iterator[FastAPI]:
    before = keyed_app.state.context
    configure(keyed_app, database, files, provider, clock)
    yield keyed_app
    keyed_app.state.context = before


def program(app: FastAPI, token: str) -> TestClient:
    return TestClient(app, headers={"Authorization": f"Bearer {token}"})


def browse(app: FastAPI) -> TestClient:
    headers = {"Accept": "text/html", "Origin": SITE, "Sec-Fetch-Site": "same-origin"}
    return TestClient(app, base_url=SITE, headers=headers, follow_redirects=False)


def log_in(app: FastAPI, provider: FakeProvider, claims: dict[str, Any] = ADA, place: str = "/") -> TestClient:
    browser = browse(app)
    away = browser.get(f"/login/provider?next={place}")
    assert away.status_code == 303
    back = browser.get("/login/return?" + provider.log_in(away.headers["location"], claims))
    assert back.status_code == 200, back.text
    return browser


def test_a_token_acts_for_the_owner_with_the_scopes_of_its_roles(app: FastAPI, provider: FakeProvider) -> None:
    ada, lead = program(app, provider.token()), program(app, provider.token(sub="u-2", roles=["lead", "unknown"]))
    assert ada.post("/v1/cohorts", files=multipart()).status_code == 403
    made = lead.post("/v1/cohorts", files=multipart())
    assert made.status_code == 201
    # Both work for one owner.
    assert [each["id"] for each in ada.get("/v1/cohorts").json()["items"]] == [made.json()["id"]]


def test_scopes_may_stand_in_a_text(
    app: FastAPI, database: Database, files: Files, provider: FakeProvider, clock: Clock
) -> None:
    configure(app, database, files, provider, clock, oidc_scopes_claim="scope", oidc_roles={})
    assert program(app, provider.token(scope="openid read email")).get("/v1/cohorts").status_code == 200
    refused = program(app, provider.token(scope="openid email")).get("/v1/cohorts")
    assert refused.status_code == 403
    assert "no role" in refused.json()["detail"]


def test_organisations_are_owners_and_do_not_see_each_other(
    app: FastAPI, database: Database, files: Files, provider: FakeProvider, clock: Clock
) -> None:
    configure(app, database, files, provider, clock, oidc_owner=None, oidc_owner_claim="org")
    north = program(app, provider.token(roles=["lead"], org="North"))
    south = program(app, provider.token(roles=["lead"], org="South"))
    cohort = north.post("/v1/cohorts", files=multipart()).json()["id"]
    assert south.get(f"/v1/cohorts/{cohort}").status_code == 404
    assert north.get(f"/v1/cohorts/{cohort}").status_code == 200
    listed = program(app, provider.token(roles=["lead"], org=["North"]))
    assert listed.get(f"/v1/cohorts/{cohort}").status_code == 200
    nobody = program(app, provider.token(roles=["lead"])).get("/v1/cohorts")
    assert (nobody.status_code, "'org' is missing" in nobody.json()["detail"]) == (403, True)
    # Those that only look like the name of another are no names.
    for claim in (["North", "South"], [], {"North": {}}, " ", [7], "North\u200b", " North", "North\n", "x" * 201):
        several = program(app, provider.token(roles=["lead"], org=claim)).get("/v1/cohorts")
        assert (several.status_code, "'org' is not one name" in several.json()["detail"]) == (403, True), claim


DEEP = base64.urlsafe_b64encode(b"[" * 4_998).decode()


def _by_secret(body: str, secret: bytes) -> str:
    """A token signed by a shared secret, under the name of the provider's key."""
    head = base64.urlsafe_b64encode(b'{"alg": "HS256", "kid": "k1"}').decode().rstrip("=")
    digest = hmac.digest(secret, f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def _refusals(provider: FakeProvider) -> dict[str, str]:
    stranger = RSAKey.generate_key(2048, {"kid": "k1"})
    head, body, _ = provider.token().split(".")
    return {
        "another issuer": provider.token(iss="https://evil.example"),
        "another audience": provider.token(aud="billing"),
        "no audience": provider.token(aud=None),
        "expired": provider.token(exp=1_000_000_000),
        "no expiry": provider.token(exp=None),
        "not valid yet": provider.token(nbf=4_000_000_000),
        "no subject": provider.token(sub=None),
        "a stranger's key": provider.token(key=stranger),
        "the client's secret": _by_secret(body, SECRET.encode()),
        "the public key as a secret": _by_secret(body, provider.key.as_pem(private=False)),
        "no signature": f"{head}.{body}.",
        "unsigned": "eyJhbGciOiJub25lIn0." + body + ".",
        "no token": "something",
        "three dots": "a.b.c",
        "nested thousands deep": DEEP + ".e30.e30",
    }


def test_tokens_that_must_be_refused(app: FastAPI, provider: FakeProvider) -> None:
    assert program(app, provider.token()).get("/v1/cohorts").status_code == 200
    accepted = [
        name for name, token in _refusals(provider).items() if program(app, token).get("/v1/cohorts").status_code != 401
    ]
    assert accepted == []


def test_one_of_several_audiences_suffices_and_clocks_may_differ_by_a_minute(
    app: FastAPI, provider: FakeProvider
) -> None:
    assert program(app, provider.token(aud=["billing", CLIENT_ID])).get("/v1/cohorts").status_code == 200
    assert program(app, provider.token(exp=int(time.time()) - 20)).get("/v1/cohorts").status_code == 200
    assert program(app, provider.token(exp=int(time.time()) - 90)).get("/v1/cohorts").status_code == 401


def test_new_keys_of_the_provider_are_fetched_but_not_for_every_token(
    app: FastAPI, provider: FakeProvider, clock: Clock
) -> None:
    old = provider.token()
    assert program(app, old).get("/v1/cohorts").status_code == 200
    provider.key = RSAKey.generate_key(2048, {"kid": "k2", "use": "sig"})
    new = provider.token()
    assert program(app, new).get("/v1/cohorts").status_code == 401  # asked a moment ago
    clock.now += 31
    assert program(app, new).get("/v1/cohorts").status_code == 200
    assert program(app, old).get("/v1/cohorts").status_code == 401  # the provider has withdrawn its key
    forged = provider.token(key=RSAKey.generate_key(2048, {"kid": "k3"}))
    before = provider.asked.count("/keys")
    for _ in range(5):
        assert program(app, forged).get("/v1/cohorts").status_code == 401
    assert provider.asked.count("/keys") - before <= 1


def test_a_provider_that_is_away(app: FastAPI, provider: FakeProvider, clock: Clock) -> None:
    """Until its keys are known 503; afterwards they go on to count, and only log-ins have to wait."""
    provider.is_away = True
    away = program(app, provider.token()).get("/v1/cohorts")
    assert (away.status_code, away.json()["type"].rpartition("/")[2]) == (503, "provider-unavailable")
    assert browse(app).get("/login/provider").status_code == 503
    # For some seconds nobody waits for it again.
    asked = len(provider.asked)
    assert program(app, provider.token()).get("/v1/cohorts").status_code == 503
    assert len(provider.asked) == asked
    provider.is_away = False
    clock.now += 6
    assert program(app, provider.token()).get("/v1/cohorts").status_code == 200
    provider.is_away = True
    clock.now += 10_000
    assert program(app, provider.token()).get("/v1/cohorts").status_code == 200
    provider.is_away = False
    provider.issuer = "https://another.example"
    assert browse(app).get("/login/provider").status_code == 503


def test_a_slow_provider_keeps_nobody_else_waiting(
    app: FastAPI, provider: FakeProvider, clock: Clock, database: Database
) -> None:
    """A token of a key that nobody knows has the keys fetched, which may take seconds."""
    with database.session() as session:
        _, key = KeyRepository(session).create("Ward 7", ["read"])
    ada = provider.token()
    assert program(app, ada).get("/v1/cohorts").status_code == 200
    context = app.state.context
    app.state.context = dataclasses.replace(context, authenticating=Places(1, 1.0))
    clock.now += 31
    junk = provider.token(key=RSAKey.generate_key(2048, {"kid": "k3"}))
    with ThreadPoolExecutor() as pool, provider.slow() as is_asked:
        first = pool.submit(program(app, junk).get, "/v1/cohorts")
        assert is_asked.wait(60)
        assert program(app, key).get("/v1/cohorts").status_code == 200
        assert program(app, ada).get("/v1/cohorts").status_code == 200
        assert program(app, junk).get("/v1/cohorts").status_code == 503  # it may be a new one
        assert not first.done()
    assert first.result(60).status_code == 401


def test_keys_still_count_beside_the_provider(app: FastAPI, database: Database) -> None:
    with database.session() as session:
        _, key = KeyRepository(session).create("Ward 7", ["read"])
    assert program(app, key).get("/v1/cohorts").status_code == 200
    assert TestClient(app).get("/v1/cohorts").status_code == 401


def test_a_person_logs_in_and_comes_back_to_where_she_was(app: FastAPI, provider: FakeProvider) -> None:
    browser = browse(app)
    form = browser.get("/login?next=/cohorts")
    assert "/login/provider?next=/cohorts" in form.text
    away = browser.get("/login/provider?next=/cohorts")
    cookie = away.headers["set-cookie"]
    assert all(word in cookie for word in ("__Host-sign-on=", "HttpOnly", "Secure", "SameSite=lax", "Max-Age=600"))
    back = browser.get("/login/return?" + provider.log_in(away.headers["location"]))
    session = next(c for c in back.headers.get_list("set-cookie") if c.startswith("__Host-session="))
    assert all(word in session for word in ("HttpOnly", "Secure", "SameSite=strict", "Max-Age=43200"))
    # Not a redirect: the browser would send no strict cookie along, as the chain began at another site.
    assert (back.status_code, 'content="0; url=/cohorts"' in back.text) == (200, True)
    assert browser.get("/cohorts").status_code == 200
    assert "ada" in browser.get("/settings").text


def log_out(browser: TestClient) -> Response:
    token = re.search(r'name="csrf_token" value="([^"]+)"', browser.get("/settings").text)
    assert token is not None
    left = browser.post("/logout", data={"csrf_token": token.group(1)})
    assert browser.get("/cohorts").status_code == 303
    return left


def test_log_out_leads_on_to_that_of_the_provider(app: FastAPI, provider: FakeProvider) -> None:
    ada = log_in(app, provider)
    secret = ada.cookies["__Host-session"]
    left = log_out(ada)
    # Not a redirect: browsers let a form with `form-action 'self'` lead to no other site.
    assert left.status_code == 200
    address = re.search(r'content="0; url=([^"]+)"', left.text)
    assert address is not None
    assert provider.log_out(html.unescape(address.group(1))) == f"{SITE}/login"
    ada.cookies.set("__Host-session", secret, domain="autoprog.hospital.example")
    assert ada.get("/cohorts").status_code == 303


def test_log_out_ends_the_session_here_whatever_the_provider_offers(
    app: FastAPI, provider: FakeProvider, clock: Clock
) -> None:
    provider.ends_sessions = False
    assert log_out(log_in(app, provider)).headers["location"] == "/login"
    ada = log_in(app, provider)
    clock.now += 10_000
    provider.is_away = True
    left = log_out(ada)
    assert (left.status_code, "you may still be logged in there" in left.text) == (200, True)


def test_who_logged_in_with_a_key_is_not_sent_to_the_provider(app: FastAPI, database: Database) -> None:
    with database.session() as session:
        _, key = KeyRepository(session).create("Ward 7", ["read"])
    browser = browse(app)
    assert browser.post("/login", data={"key": key}).status_code == 303
    assert log_out(browser).headers["location"] == "/login"


def test_an_answer_of_another_log_in_is_refused(app: FastAPI, provider: FakeProvider, database: Database) -> None:
    mine, theirs = browse(app), browse(app)
    my_way = provider.log_in(mine.get("/login/provider").headers["location"])
    their_way = provider.log_in(theirs.get("/login/provider").headers["location"])
    # An attacker's code with his state, in a victim's browser; a code without state; and without a cookie.
    code = their_way.partition("&")[0]
    for browser, way in ((mine, their_way), (mine, code), (browse(app), my_way), (mine, "error=access_denied")):
        mine_again = browser.get(f"/login/return?{way}")
        assert mine_again.status_code == 401
        assert "__Host-session=" not in mine_again.headers.get("set-cookie", "")
    assert browse(app).get("/cohorts").status_code == 303
    with database.session(read_only=True) as session:
        entered = [event for event in AuditRepository(session).after(0) if event.action == "GET /login/return"]
    assert {event.result for event in entered} >= {"401"}


def test_a_code_works_once_and_the_token_must_be_of_the_log_in(app: FastAPI, provider: FakeProvider) -> None:
    browser = browse(app)
    way = provider.log_in(browser.get("/login/provider").headers["location"])
    cookie = browser.cookies["__Host-sign-on"]
    assert browser.get(f"/login/return?{way}").status_code == 200
    browser.cookies.set("__Host-sign-on", cookie)
    assert browser.get(f"/login/return?{way}").status_code == 401
    other = browse(app)
    replayed = provider.log_in(other.get("/login/provider").headers["location"], {**ADA, "nonce": "of another"})
    assert other.get(f"/login/return?{replayed}").status_code == 401
    assert other.get("/cohorts").status_code == 303


def test_the_way_back_leads_nowhere_else(app: FastAPI, provider: FakeProvider) -> None:
    browser = browse(app)
    for place in ("https://evil.example", "//evil.example", "/\\evil.example"):
        away = browser.get("/login/provider", params={"next": place})
        back = browser.get("/login/return?" + provider.log_in(away.headers["location"]))
        assert "evil" not in back.text


def test_a_blocked_person_is_out_at_once_and_can_be_let_in_again(
    app: FastAPI, provider: FakeProvider, database: Database
) -> None:
    ada = log_in(app, provider)
    assert ada.get("/cohorts").status_code == 200
    with database.session() as session:
        keys = KeyRepository(session)
        (row,) = [row for _, row in keys.all("Ward 7") if row.person == "ada"]
        keys.revoke(row.id)
    assert ada.get("/cohorts").status_code == 303
    refused = program(app, provider.token()).get("/v1/cohorts")
    assert (refused.status_code, "blocked" in refused.json()["detail"]) == (401, True)
    with database.session() as session:
        KeyRepository(session).unblock(row.id)
    assert program(app, provider.token()).get("/v1/cohorts").status_code == 200


def test_an_administrator_blocks_and_others_do_not(app: FastAPI, provider: FakeProvider, database: Database) -> None:
    ada = log_in(app, provider)
    lead = log_in(app, provider, {"sub": "u-2", "email": "lead@ward", "roles": ["lead"]})
    with database.session(read_only=True) as session:
        ids = {row.person: row.id for _, row in KeyRepository(session).all("Ward 7")}
    assert "Block" not in ada.get("/settings").text
    page = lead.get("/settings").text
    token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
    own = ada.get("/settings").text.partition('name="csrf_token" value="')[2].partition('"')[0]
    path = f"/settings/keys/{ids['ada']}/revocation"
    assert ada.post(f"/settings/keys/{ids['lead@ward']}/revocation", data={"csrf_token": own}).status_code == 403
    assert "Block ada?" in lead.get(path).text
    assert lead.post(path, data={"csrf_token": token}).status_code == 303
    assert ada.get("/cohorts").status_code == 303


def test_a_key_made_on_a_page_names_its_maker_and_ends_when_she_is_blocked(
    app: FastAPI, provider: FakeProvider, database: Database
) -> None:
    lead = log_in(app, provider, {"sub": "u-2", "email": "lead@ward", "roles": ["lead"]})
    head = log_in(app, provider, {"sub": "u-3", "email": "head@ward", "roles": ["lead"]})

    def send(browser: TestClient, path: str, **form: str) -> str:
        token = browser.get("/settings").text.partition('name="csrf_token" value="')[2].partition('"')[0]
        return browser.post(path, data={"csrf_token": token, **form}).text

    def make(browser: TestClient) -> str:
        page = send(browser, "/settings/keys", scopes="admin", days="")
        return page.partition('<code class="secret">')[2].partition("<")[0]

    # A key that was made by a session of a key is of the same person.
    first = make(lead)
    by_key = browse(app)
    assert by_key.post("/login", data={"key": first}).status_code == 303
    second = make(by_key)
    assert "<dd>lead@ward</dd>" in head.get("/settings").text
    with database.session(read_only=True) as session:
        (lead_id,) = [row.id for _, row in KeyRepository(session).all() if row.person == "lead@ward"]
    path = f"/settings/keys/{lead_id}/revocation"
    assert "The keys that this person has made" in head.get(path).text
    assert [program(app, key).get("/v1/cohorts").status_code for key in (first, second)] == [403, 403]  # admin alone
    send(head, path)
    assert [program(app, key).get("/v1/cohorts").status_code for key in (first, second)] == [401, 401]
    assert by_key.get("/settings").status_code == 303


def test_a_person_who_changes_roles_or_name_stays_the_same(
    app: FastAPI, provider: FakeProvider, database: Database
) -> None:
    program(app, provider.token()).get("/v1/cohorts")
    program(app, provider.token(roles=["lead"], preferred_username="ada\u202e lovelace")).get("/v1/cohorts")
    with database.session(read_only=True) as session:
        ((owner, row),) = KeyRepository(session).all()
    assert (owner, row.person, row.scopes) == ("Ward 7", "ada lovelace", ["admin", "read", "write"])


def test_a_cookie_that_was_made_up_is_no_log_in() -> None:
    begun = SignOn.begin("/cohorts")
    assert SignOn.from_cookie(begun.to_cookie()) == begun
    for value in ("", "x", "W10=", "eyJhIjogMX0=", "WzEsMiwzLDRd", "\u00e4", DEEP):
        assert SignOn.from_cookie(value) is None


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"oidc_issuer": "http://login.example"}, "https"),
        ({"oidc_client_id": None}, "AUTOPROG_OIDC_CLIENT_ID"),
        ({"oidc_owner": None}, "AUTOPROG_OIDC_OWNER"),
        ({"oidc_owner_claim": "org"}, "AUTOPROG_OIDC_OWNER"),
        ({"oidc_roles": {"lead": ["everything"]}}, "read"),
    ],
)
def test_settings_that_cannot_be_right(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Settings(**{**SETTINGS, **given})


def test_keys_lose_what_the_role_of_their_maker_no_longer_gives(app: FastAPI, provider: FakeProvider) -> None:
    person = {"sub": "u-2", "email": "lead@ward"}
    lead = log_in(app, provider, {**person, "roles": ["lead"]})
    page = lead.get("/settings").text
    token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
    made = lead.post("/settings/keys", data={"csrf_token": token, "scopes": ["read", "write"], "days": ""}).text
    key = made.partition('<code class="secret">')[2].partition("<")[0]
    by_key = browse(app)
    assert by_key.post("/login", data={"key": key}).status_code == 303
    used = program(app, key)
    assert used.post("/v1/cohorts", files=multipart()).status_code == 201
    assert "make, change and delete" in by_key.get("/settings").text

    log_in(app, provider, {**person, "roles": ["physician"]})
    assert used.get("/v1/cohorts").status_code == 200
    assert used.post("/v1/cohorts", files=multipart()).status_code == 403
    assert by_key.get("/cohorts").status_code == 200
    assert "make, change and delete" not in by_key.get("/settings").text

    assert program(app, provider.token(**person, roles=[])).get("/v1/cohorts").status_code == 403
    assert used.get("/v1/cohorts").status_code == 403

    log_in(app, provider, {**person, "roles": ["lead"]})
    assert used.post("/v1/cohorts", files=multipart()).status_code == 201


def test_a_subject_that_cannot_be_shown_is_somebody_all_the_same(app: FastAPI, provider: FakeProvider) -> None:
    token = provider.token({"sub": "\u200b", "roles": ["physician"]})
    assert program(app, token).get("/v1/cohorts").status_code == 200


def test_who_never_had_a_role_leaves_no_trace(app: FastAPI, provider: FakeProvider, database: Database) -> None:
    assert program(app, provider.token(sub="u-9", roles=[])).get("/v1/cohorts").status_code == 403
    with database.session(read_only=True) as session:
        assert KeyRepository(session).all() == []
