"""What all pages share: headers, errors, languages, access, the audit trail."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from autoprog.storage.repositories import AuditRepository
from tests.api.conftest import LOCAL, MakeClient
from tests.api.searching import Driver, make_cohort, make_search

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
PATHS = ("/", "/searches", "/cohorts", "/cohorts/{cohort}", "/cohorts/{cohort}/delete", "/searches/{search}",
         "/searches/{search}/progress", "/searches/{search}/delete")  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_page_has_a_strict_policy_and_nothing_inline(client: TestClient, path: str) -> None:
    search = make_search(client)
    page = client.get(path.format(search=search["id"], cohort=search["cohort_id"]), headers=BROWSER)
    assert page.status_code == 200
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", page.text)


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/searches/zz", "/cohorts/0123456789abcdef0123456789abcdef", "/searches?cursor=zz",
     "/static/../app.py", "/static/nothing.css", "/cohorts?q=" + "x" * 300],
)  # fmt: skip
def test_problem_is_a_page_for_a_browser_and_a_document_for_a_program(client: TestClient, path: str) -> None:
    page, document = client.get(path, headers=BROWSER), client.get(path)
    assert page.status_code == document.status_code
    assert page.status_code in {404, 422}
    assert document.headers["content-type"] == "application/problem+json"
    if not path.startswith("/static/"):
        assert page.headers["content-type"].startswith("text/html")
        assert "<h1>" in page.text
        assert "Content-Security-Policy" in page.headers


def test_rest_answers_stay_documents_for_a_browser(client: TestClient) -> None:
    for path in ("/v1/searches/zz", "/v1/nowhere", "/v1/cohorts?limit=x"):
        assert client.get(path, headers=BROWSER).headers["content-type"] == "application/problem+json"


def test_pages_are_not_in_the_openapi_document(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {path.split("/")[1] for path in paths} <= {"v1", "livez", "readyz", "problems"}


def test_static_files_have_their_types(client: TestClient) -> None:
    for name, kind in {"app.css": "text/css", "app.js": "text/javascript", "htmx.min.js": "text/javascript"}.items():
        response = client.get(f"/static/{name}")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith(kind)


def log_in(client: TestClient) -> None:
    """Give a client with a key a browser's session in its place."""
    key = client.headers.pop("Authorization").removeprefix("Bearer ")
    origin = {"Origin": str(client.base_url).rstrip("/"), **BROWSER}
    done = client.post("/login", data={"key": key}, headers=origin, follow_redirects=False)
    assert done.status_code == 303, done.text


@pytest.mark.parametrize("path", PATHS)
def test_pages_need_a_key_where_the_rest_api_does(keyed_app: FastAPI, client_of: MakeClient, path: str) -> None:
    owner = client_of("owner")
    search = make_search(owner)
    address = path.format(search=search["id"], cohort=search["cohort_id"])
    stranger = TestClient(keyed_app, base_url="https://example.org", follow_redirects=False)
    refused = stranger.get(address, headers=BROWSER)
    assert refused.status_code in {303, 401}
    assert search["id"] not in refused.text.replace(address, "")
    log_in(owner)
    assert owner.get(address, headers=BROWSER).status_code == 200
    other_client = client_of("other owner")
    log_in(other_client)
    other = other_client.get(address, headers=BROWSER)
    assert other.status_code == (404 if "{" in path else 200)
    assert search["cohort_id"] not in other.text.replace(address, "")


def test_a_cohort_that_is_searched_stays_and_its_page_leads_to_the_search(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.claim()
    page = client.post(f"/cohorts/{search['cohort_id']}/delete", data={"models": "keep"}, headers=BROWSER)
    assert page.status_code == 409
    assert "cancel the running searches" in page.text
    assert f'href="/searches/{search["id"]}"' in page.text


def test_what_pages_change_is_in_the_audit_trail(client: TestClient, local_app: FastAPI) -> None:
    search = make_search(client)
    client.post(f"/searches/{search['id']}/delete", headers=BROWSER)
    with local_app.state.context.database.session(read_only=True) as session:
        actions = [event.action for event in AuditRepository(session).after(0)]
    assert "POST /searches/{search_id}/delete" in actions


@pytest.mark.parametrize(
    ("headers", "cookie", "language"),
    [
        ({}, None, "en"),
        ({"Accept-Language": "de-AT,de;q=0.9"}, None, "de"),
        ({"Accept-Language": "fr, en-GB;q=0.9"}, None, "en"),
        ({"Accept-Language": "xx, fr;q=0.5"}, None, "en"),
        ({"Accept-Language": "de"}, "en", "en"),
        ({}, "de", "de"),
        ({"Accept-Language": ",;=,q"}, "../../x", "en"),
    ],
)
def test_language_is_the_cookies_or_the_browsers(
    local_app: FastAPI, headers: dict[str, str], cookie: str | None, language: str
) -> None:
    client = TestClient(local_app, base_url=LOCAL, cookies={} if cookie is None else {"lang": cookie})
    assert f'<html lang="{language}">' in client.get("/", headers={**BROWSER, **headers}).text


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "cohorts"]
)
def test_choice_of_a_language_leads_to_this_server_alone(client: TestClient, back: str) -> None:
    response = client.post("/language", data={"language": "en", "back": back}, follow_redirects=False)
    assert response.headers["location"] == "/"


def test_lists_find_by_name_and_go_on_where_a_page_ends(client: TestClient) -> None:
    for _ in range(23):
        make_cohort(client)
    page = client.get("/cohorts", headers=BROWSER).text
    assert page.count("Cleveland heart disease</a>") == 20
    more = re.search(r'href="(\?q=&amp;cursor=[^"]+)"', page)
    assert more
    rest = client.get("/cohorts" + more.group(1).replace("&amp;", "&"), headers=BROWSER).text
    assert rest.count("Cleveland heart disease</a>") == 3
    assert client.get("/cohorts?q=CLEVE", headers=BROWSER).text.count("Cleveland heart disease</a>") == 20
    for text in ("%", "_", "zzz"):
        assert "No cohort has this name." in client.get("/cohorts", params={"q": text}, headers=BROWSER).text


def test_cohort_is_searched_again_with_other_settings(client: TestClient) -> None:
    cohort = make_cohort(client)
    address = f"/cohorts/{cohort['id']}/searches"
    asked = {"minutes": "2,5", "metric": "brier", "seed": "3"}
    response = client.post(address, data=asked, headers=BROWSER, follow_redirects=False)
    assert response.status_code == 303
    settings = client.get("/v1" + response.headers["location"]).json()["settings"]
    assert (settings["budget"]["time_s"], settings["metric"], settings["seed"]) == (150, "brier", 3)
    for wrong in (
        {"minutes": "soon"},
        {"minutes": "0"},
        {"minutes": "nan"},
        {"minutes": "1", "metric": "uno_c"},
        {"minutes": "1", "seed": "-1"},
    ):
        refused = client.post(address, data=wrong, headers=BROWSER)
        assert refused.status_code == 422, wrong
        assert "error" in refused.text
        assert f'value="{wrong["minutes"]}"' in refused.text


def test_form_that_is_sent_twice_starts_one_search(client: TestClient) -> None:
    address = f"/cohorts/{make_cohort(client)['id']}"

    def send(once: str, minutes: str) -> str:
        sent = client.post(f"{address}/searches", data={"once": once, "minutes": minutes}, follow_redirects=False)
        assert sent.status_code == 303, sent.text
        return sent.headers["location"]

    tokens = [re.findall(r'name="once" value="(\w+)"', client.get(address, headers=BROWSER).text) for _ in range(2)]
    ((first,), (second,)) = tokens
    assert first != second
    refused = client.post(f"{address}/searches", data={"once": first, "minutes": "soon"}, headers=BROWSER)
    assert refused.status_code == 422
    assert send(first, "1") == send(first, "1")
    assert len({send(first, "1"), send(first, "2"), send(second, "1")}) == 3
    assert len(client.get("/v1/searches").json()["items"]) == 3


def test_language_leads_back_to_the_page_with_its_query(client: TestClient) -> None:
    page = client.get("/cohorts?q=a%26b", headers=BROWSER).text
    back = re.search(r'name="back" value="([^"]*)"', page)
    assert back is not None
    assert back[1] == "/cohorts?q=a%26b"
    chosen = client.post("/language", data={"language": "de", "back": back[1]}, follow_redirects=False)
    assert chosen.headers["location"] == back[1]


def test_deleting_a_cohort_asks_first_and_needs_a_choice(client: TestClient) -> None:
    cohort = make_cohort(client)
    address = f"/cohorts/{cohort['id']}/delete"
    assert "Delete this cohort?" in client.get(address, headers=BROWSER).text
    assert client.post(address, data={}, headers=BROWSER).status_code in {415, 422}
    assert client.post(address, data={"models": "perhaps"}, headers=BROWSER).status_code == 422
    assert client.get(f"/v1/cohorts/{cohort['id']}").status_code == 200
    gone = client.post(address, data={"models": "keep"}, headers=BROWSER, follow_redirects=False)
    assert (gone.status_code, gone.headers["location"]) == (303, "/cohorts")
    assert client.get(f"/v1/cohorts/{cohort['id']}").status_code == 404
