"""German in a browser: accessible, and no word wider than a phone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.api.diagnosing import RESPONSES, make_model, without_groups
from tests.api.selecting import make_problem
from tests.pages.conftest import DATA, NARROW, SPECS, WIDE, PageAt, assert_accessible, first_lines
from tests.system.server import Server

PATHS = ("/", "/searches", "/cohorts", "/models", "/diagnosis", "/diagnosis/new", "/test-selection",
         "/test-selection/new", "/test-catalogues", "/test-catalogues/new", "/settings", "/audit",
         "/login", "/nowhere")  # fmt: skip


@pytest.fixture(scope="module")
def cohort_id(served: Server) -> str:
    file, spec = SPECS["times"]
    sent = {"file": ("patients.csv", first_lines(DATA / file)), "spec": (None, json.dumps(spec))}
    response = served.client.post("/v1/cohorts", files=sent)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


@pytest.mark.parametrize("width", [NARROW, pytest.param(WIDE, marks=pytest.mark.slow)])
def test_german_pages_are_accessible(page_at: PageAt, cohort_id: str, width: int) -> None:
    for path in (*PATHS, f"/cohorts/{cohort_id}", f"/cohorts/{cohort_id}/delete"):
        page = page_at(path, width=width, language="de-DE")
        expect(page.locator("html")).to_have_attribute("lang", "de")
        assert_accessible(page)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_file_is_read_in_german(page_at: PageAt, width: int) -> None:
    page = page_at("/", width=width, language="de-DE")
    file: Any = {"name": "patients.csv", "mimeType": "text/csv", "buffer": first_lines(DATA / SPECS["times"][0])}
    page.locator("#file").set_input_files(file)
    expect(page.get_by_role("heading", name="Was möchten Sie vorhersagen?")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Wann etwas eintritt").check()
    expect(page.get_by_label("Vorhersagezeitpunkte")).to_be_visible()
    assert_accessible(page)


@pytest.mark.parametrize("kind", SPECS)
def test_german_results_fit_a_phone(page_at: PageAt, ended: dict[str, dict[str, Any]], kind: str) -> None:
    search = ended[kind]
    model = f"/models/{search['model_id']}"
    for path in (f"/searches/{search['id']}", f"/cohorts/{search['cohort_id']}", model, f"{model}/calculator"):
        assert_accessible(page_at(path, width=NARROW, language="de-DE"))


def test_german_questions_at_the_bedside_fit_a_phone(page_at: PageAt, served: Server) -> None:
    spec = {**{k: v for k, v in without_groups(name="Ikterus").items() if k != "responses"}, "responses": RESPONSES}
    for address, begin in (
        (f"/diagnosis/{make_model(served.client, **spec)['id']}", "Mit einem Patienten beginnen"),
        (f"/test-selection/{make_problem(served.client)['id']}", "Nächster Patient"),
    ):
        page = page_at(address, width=NARROW, language="de-DE")
        assert_accessible(page)
        page.get_by_role("button", name=begin).click()
        page.locator(".answer.yes").wait_for()
        for answer in page.locator(".answer").all():
            box = answer.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        assert_accessible(page)


def test_choice_in_the_footer_stays(page_at: PageAt) -> None:
    page = page_at("/cohorts", language="de-DE")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_label("Name of the cohort")).to_be_visible()
    page.goto("/models")
    expect(page.locator("html")).to_have_attribute("lang", "en")
