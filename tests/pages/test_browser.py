"""Every page in a browser: WCAG, narrow windows, and what lists and searches lead to."""

from __future__ import annotations

import importlib
import pkgutil
import re
import zlib
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from playwright.sync_api import Page, expect

import api.pages
from autoprog.storage.database import Database
from tests.api.conftest import serving
from tests.api.diagnosing import RESPONSES, make_model, open_session, without_groups
from tests.api.selecting import make_problem, open_round
from tests.api.test_test_catalogues import make_catalogue
from tests.pages.conftest import HEIGHT, NARROW, SPECS, WIDE, PageAt, assert_accessible, assert_looks, start_by_rest
from tests.pages.test_login import make_key
from tests.system.server import Server

Ended = dict[str, dict[str, Any]]
WIDTHS = pytest.mark.parametrize("width", [NARROW, WIDE])

# Files, parts of pages, and steps to an organisation's account, from which a browser goes on at once.
NO_PAGES = {
    "/static/{name}", "/example.csv", "/searches/{search_id}/progress", "/login/provider", "/login/return",
    "/searches/{search_id}/figures/{name}", "/models/{model_id}/validations/{validation_id}/figures/{name}",
}  # fmt: skip
WITH_KEYS = {"/login", "/settings", "/settings/keys/{key_id}/revocation", "/audit"}
ELSEWHERE = {
    "/",
    "/searches",
    "/searches/{search_id}",
    "/searches/{search_id}/explanation",
    "/searches/{search_id}/report",
    "/cohorts",
    "/cohorts/{cohort_id}",
    "/cohorts/{cohort_id}/delete",
    "/models",
    "/models/{model_id}",
    "/models/{model_id}/calculator",
    "/models/{model_id}/comparison",
    "/models/{model_id}/validations/{validation_id}",
    "/models/{model_id}/validations/{validation_id}/report",
    "/diagnosis/sessions/{session_id}",
    "/test-selection/{problem_id}/rounds/{round_id}",
    "/test-catalogues/{catalogue_id}",
}
"""Checked in a browser by the tests of these pages."""


@WIDTHS
@pytest.mark.parametrize(
    "path", ["/searches", "/cohorts", "/searches?q=hepa", "/cohorts?q=nothing-like-it", "/nowhere"]
)
def test_page_is_accessible(page_at: PageAt, ended: Ended, path: str, width: int) -> None:
    assert_accessible(page_at(path, width=width))


@WIDTHS
@pytest.mark.parametrize("kind", SPECS)
def test_cohort_and_result_of_each_kind_are_accessible(page_at: PageAt, ended: Ended, kind: str, width: int) -> None:
    search = ended[kind]
    page = page_at(f"/cohorts/{search['cohort_id']}", width=width)
    assert_accessible(page)
    if kind == "binary":
        assert_looks(page, f"cohort-{width}")
    page = page_at(f"/searches/{search['id']}", width=width)
    offered = page.get_by_role("link", name=re.compile("risk calculator", re.IGNORECASE))
    expect(offered).to_have_count(int(kind != "visits"))  # no form asks for visits
    assert_accessible(page)
    if kind == "binary":
        assert_looks(page, f"result-{width}")


def test_report_looks_as_in_the_readme(page_at: PageAt, ended: Ended) -> None:
    page = page_at(f"/searches/{ended['binary']['id']}/report")
    expect(page.get_by_role("heading", name="Read this first")).to_be_visible()
    assert_accessible(page)
    assert_looks(page, f"report-{WIDE}")


@WIDTHS
def test_running_search_is_watched_and_stopped(page_at: PageAt, served: Server, width: int) -> None:
    search_id = start_by_rest(served, "binary", time_s=90, evaluations=500)
    page = page_at(f"/searches/{search_id}", width=width)
    expect(page.locator("#progress svg.plot").first).to_be_visible(timeout=60_000)
    assert_accessible(page)
    page.get_by_role("button", name=re.compile("Stop")).click()
    expect(page.get_by_role("link", name=re.compile("risk calculator", re.IGNORECASE))).to_be_visible(timeout=90_000)


def test_search_without_a_model_says_what_to_change(page_at: PageAt, served: Server) -> None:
    search_id = start_by_rest(served, "binary", time_s=600, evaluations=500)
    waiting = start_by_rest(served, "binary", time_s=600, evaluations=500)
    for each in (waiting, search_id):
        served.client.post(f"/v1/searches/{each}/cancel")
    page = page_at(f"/searches/{waiting}")
    expect(page.get_by_role("heading", name="What you can change")).to_be_visible(timeout=60_000)
    assert_accessible(page)


def test_list_is_searched_and_an_entry_deleted_after_a_question(page_at: PageAt, served: Server) -> None:
    search_id = start_by_rest(served, "times", time_s=4, evaluations=1)
    cohort_id = served.client.get(f"/v1/searches/{search_id}").json()["cohort_id"]
    served.client.post(f"/v1/searches/{search_id}/cancel")
    page = page_at("/cohorts")
    page.get_by_label("Name of the cohort").fill("bone")
    page.get_by_role("button", name="Search").click()
    entry = page.get_by_role("listitem").filter(has=page.locator(f'a[href="/cohorts/{cohort_id}"]'))
    expect(entry).to_contain_text("137 patients")
    entry.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete this cohort?")
    assert_accessible(page)
    page.get_by_role("link", name="Keep it").click()
    page.wait_for_url(f"**/cohorts/{cohort_id}")


def contents(pdf: bytes) -> list[bytes]:
    """The streams of a PDF, unpacked."""
    packed = re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    return [zlib.decompressobj().decompress(each) for each in packed]


@pytest.mark.parametrize("path", ["/searches/{id}", "/searches/{id}/report"])
def test_result_and_report_are_printed_on_pages_of_text_without_controls(
    page_at: PageAt, ended: Ended, path: str
) -> None:
    page = page_at(path.format(id=ended["binary"]["id"]))
    controls = page.locator("nav, form, button, input, select, .button, .skip, .download").filter(visible=True)
    assert controls.count() > 0
    page.emulate_media(media="print")
    assert [each.evaluate("e => e.outerHTML") for each in controls.all()] == []
    expect(page.locator("h1")).to_be_visible()
    pdf = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 1
    assert sum(each.count(b"Tj") + each.count(b"TJ") for each in contents(pdf)) > 100


def find_pages() -> set[str]:
    """The routes of all pages."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(api.pages.__path__, f"{api.pages.__name__}.")
    ]
    return {
        route.path
        for module in modules
        for route in getattr(getattr(module, "router", None), "routes", ())
        if isinstance(route, APIRoute) and "GET" in route.methods
    }


def test_every_page_is_accessible_on_a_phone(page_at: PageAt, served: Server, ended: Ended) -> None:
    client = served.client
    diagnosis = make_model(client, **without_groups(name="jaundice", responses=RESPONSES))
    problem = make_problem(client)
    names: dict[str, Any] = {
        "search_id": ended["binary"]["id"],
        "problem_id": problem["id"],
        "round_id": open_round(client, problem)["id"],
        "catalogue_id": make_catalogue(client)["id"],
        "session_id": open_session(client, diagnosis["id"])["id"],
    }
    page = page_at("/", width=NARROW)
    for route in sorted(find_pages() - NO_PAGES - WITH_KEYS - ELSEWHERE):
        model_id = diagnosis["id"] if route.startswith("/diagnosis") else ended["binary"]["model_id"]
        answer = page.goto(route.format(model_id=model_id, **names))
        assert answer is not None
        assert answer.status == 200, route
        assert_accessible(page)
    page.goto("/searches/{search_id}/explanation".format(**names))
    assert_accessible(page)


def look(page: Page) -> None:
    """On a phone, then on a wide screen, which stays."""
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        assert_accessible(page)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_log_in_settings_and_audit_trail_are_accessible(
    page_at: PageAt, keyed_app: FastAPI, database: Database, language: str
) -> None:
    key = make_key(database, "Ward 7")[1]
    make_key(database, "Ward 7", "read")
    with serving(keyed_app) as port:
        page = page_at(f"http://127.0.0.1:{port}/settings", language=language)
        look(page)
        page.locator("#key").fill("ap_wrong")
        page.locator("#key").press("Enter")
        expect(page.locator(".error")).to_be_visible()
        look(page)
        page.locator("#key").fill(key)
        page.locator("#key").press("Enter")
        expect(page.locator("#sessions")).to_be_visible()
        look(page)
        page.locator("[action='/settings/keys'] .button").click()
        expect(page.locator(".secret")).to_contain_text("ap_")
        look(page)
        page.locator("a[href$='/revocation']").first.click()
        expect(page.locator("h1")).to_contain_text("…")
        look(page)
        page.goto(f"http://127.0.0.1:{port}/audit")
        expect(page.get_by_role("cell", name="POST /settings/keys")).to_be_visible()
        look(page)
        page.goto(f"http://127.0.0.1:{port}/audit?day=yesterday")
        look(page)
