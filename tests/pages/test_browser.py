"""Lists, cohorts and searches in a browser: WCAG, narrow windows, and what they lead to."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import NARROW, SPECS, WIDE, PageAt, assert_accessible, assert_looks, start_by_rest
from tests.system.server import Server

Ended = dict[str, dict[str, Any]]
WIDTHS = pytest.mark.parametrize("width", [NARROW, WIDE])


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
    expect(page.get_by_role("link", name=re.compile("risk calculator", re.IGNORECASE))).to_be_visible()
    assert_accessible(page)
    if kind == "binary":
        assert_looks(page, f"result-{width}")


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
